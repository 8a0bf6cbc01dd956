"""For every room to import: it knows neither AG-UI nor graphs."""
