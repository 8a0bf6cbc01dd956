"""A remote agent as LangChain has models and graphs: a chat model, a node, and the messages that
both speak in.
"""
