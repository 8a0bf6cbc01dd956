"""What a run starts from: the thread's history, and the answers to what it waits for."""
