"""Find the methods of compiled modules that wait, without importing or running the modules."""
