# The public names of this package, and where each is.

from .playground import playground_router as playground_router
