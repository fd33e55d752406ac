"""Models of torch's API: what calls return and which events they are."""
