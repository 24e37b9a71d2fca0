import hashlib
import time


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/io":
        time.sleep(1)
    elif path == "/cpu":
        total = 0
        for number in range(6_000_000):
            total += number * number
    elif path == "/hash":
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 800_000)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done\n"]
