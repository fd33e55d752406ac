"""How a finding is confirmed: the same rules on real tensors."""
