"""From what a graph does to AG-UI events: sources, items, steps, state, usage, and the run that
joins them.
"""
