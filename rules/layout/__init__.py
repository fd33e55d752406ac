"""TLC1xx: a tensor's memory layout is not what the code relies on."""
