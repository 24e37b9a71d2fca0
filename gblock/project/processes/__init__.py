"""Processes that the project starts, their servers, and their monkey patches."""
