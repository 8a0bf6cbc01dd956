"""What a paused graph asks and what a client answers: LangGraph interrupts as AG-UI interrupts, and
back.
"""
