"""Triage: select the files that can matter, from bytes and import lines only."""
