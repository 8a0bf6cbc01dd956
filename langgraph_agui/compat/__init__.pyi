# The public names of this package, and where each is.

from .a2ui import A2UI_OPERATIONS_KEY as A2UI_OPERATIONS_KEY
from .a2ui import BASIC_CATALOG_ID as BASIC_CATALOG_ID
from .a2ui import A2UIGuidelines as A2UIGuidelines
from .a2ui import A2UIToolParams as A2UIToolParams
from .a2ui import get_a2ui_tools as get_a2ui_tools
from .outputs import CustomEventNames as CustomEventNames
from .streaming import StateItem as StateItem
from .streaming import StateStreamingMiddleware as StateStreamingMiddleware
from .switches import SUBAGENT_VISIBILITY_ATTRIBUTED as SUBAGENT_VISIBILITY_ATTRIBUTED
from .switches import SUBAGENT_VISIBILITY_HIDDEN as SUBAGENT_VISIBILITY_HIDDEN
from .switches import SUBAGENT_VISIBILITY_INLINE as SUBAGENT_VISIBILITY_INLINE
from .switches import ThinkTagSplitter as ThinkTagSplitter
from .switches import make_json_safe as make_json_safe
