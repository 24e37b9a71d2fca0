"""The stories that gblock comes from, measured on real components: naive and corrected code."""
