"""Shared state: the keys that a client sees, and those that it may change."""
