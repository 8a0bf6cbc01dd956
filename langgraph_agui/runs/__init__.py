"""How a run works: from a `RunAgentInput` and a checkpoint to a plan, and from the plan to a
finished run.
"""
