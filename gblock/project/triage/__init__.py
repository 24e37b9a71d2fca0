"""Which files can matter at all, decided from bytes and import lines."""
