"""The clients that follow a run: the sinks that events go to, and the queue from which one reader
takes them.
"""
