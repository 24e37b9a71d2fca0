"""The contents of the project's files, read on demand and cached."""
