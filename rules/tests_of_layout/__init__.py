"""TLC2xx: tests about layout that cannot fail."""
