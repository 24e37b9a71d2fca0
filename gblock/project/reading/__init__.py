"""What stands in the project's files, read on demand and kept."""
