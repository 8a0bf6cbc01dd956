"""Shared state: what of a graph's state its client sees, and what the client may change of it."""
