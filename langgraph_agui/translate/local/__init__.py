"""The local source: the callbacks and the stream of a graph in this process."""
