"""From a graph's run to AG-UI events: sources, items, steps, state, usage, and the run that
joins them.
"""
