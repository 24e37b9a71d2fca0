"""Which calls can block, and what makes them cooperative."""
