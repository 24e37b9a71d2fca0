"""The parts of the runtime probe; they import only the standard library and gevent."""
