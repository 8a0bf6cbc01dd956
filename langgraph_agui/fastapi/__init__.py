"""An agent as FastAPI routes. Requests enter `router.py`, SSE leaves by `event_stream.py`."""

try:
    import fastapi as _fastapi  # noqa: F401  # the modules below need it
except ImportError as error:
    raise ImportError('FastAPI is missing: pip install "langgraph-agui[fastapi]"') from error

from langgraph_agui.fastapi.router import add_langgraph_fastapi_endpoint, agui_router

__all__ = ["add_langgraph_fastapi_endpoint", "agui_router"]
