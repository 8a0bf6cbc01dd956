"""An agent as FastAPI routes. Requests enter `router.py`, SSE leaves by `response.py`."""

from langgraph_agui.kernel.extras import named_extras

with named_extras():
    from langgraph_agui.fastapi.router import add_langgraph_fastapi_endpoint, agui_router

__all__ = ["add_langgraph_fastapi_endpoint", "agui_router"]
