# The public names of this package, and where each is.

from .playground import playground_router as playground_router
from .reasoning_support import Finding as Finding
from .reasoning_support import check_reasoning as check_reasoning
