"""Finds the calls that block the gevent hub, before they do and while they do."""

__version__ = "0.1.0"
