"""Every entry of the catalog, and its remedy, run under gevent against the real thing."""
