"""PyTorch's layout, dtype and out= contracts as pure functions on plain data (no torch, no LibCST)."""
