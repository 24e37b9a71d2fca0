"""A static linter and a runtime probe that find calls that block the gevent hub."""

__version__ = "0.1.0"
