"""What every room may import: it knows neither AG-UI nor graphs."""
