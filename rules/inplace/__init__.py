"""TLC4xx: in-place operators and stores."""
