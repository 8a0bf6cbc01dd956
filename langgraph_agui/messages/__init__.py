"""LangChain messages and AG-UI messages: reading one, holding the other.

Everything that depends on how a model provider shapes its messages lives in this package.
"""
