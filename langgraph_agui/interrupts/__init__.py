"""Questions of a paused graph, answers of a client: LangGraph's interrupts as AG-UI's, and back."""
