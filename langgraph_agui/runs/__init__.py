"""How a run works: an input and a checkpoint make a plan, and the plan makes a finished run."""
