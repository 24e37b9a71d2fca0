"""What the run-time probe consists of; it imports the standard library and gevent alone."""
