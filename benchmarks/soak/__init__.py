"""Thousands of runs over HTTP, with clients of every kind, and what is left of them in the
server."""
