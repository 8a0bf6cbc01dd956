"""The server source: the stream of a graph on a LangGraph server."""
