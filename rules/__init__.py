"""What a hazard is: one file per rule, over the exact model of PyTorch in `contract`."""
