bind = "127.0.0.1:8000"
loglevel = "warning"
