"""A remote agent as a LangChain chat model and as a node, and the messages of both."""
