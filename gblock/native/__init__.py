"""Reading of compiled modules: which of their methods wait, without importing or running them."""
