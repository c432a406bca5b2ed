"""Scripts that measure speed and quality, each of which prints a table."""
