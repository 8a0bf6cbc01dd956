"""Graphs on a LangGraph server: their stream, told as the same signals that callbacks give of a graph here."""
