"""How much CPU the adapters cost over consuming the same graph raw. Run with ``python -m
benchmarks``."""
