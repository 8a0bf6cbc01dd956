"""What the adapters cost over the same graph read raw: `python -m benchmarks`."""
