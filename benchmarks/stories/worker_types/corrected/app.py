import hashlib
import time

import gevent


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/io":
        time.sleep(1)
    elif path == "/cpu":
        total = 0
        for start in range(0, 6_000_000, 10_000):
            for number in range(start, start + 10_000):
                total += number * number
            gevent.sleep(0)  # others have their turn
    elif path == "/hash":
        arguments = ("sha256", b"password", b"salt", 800_000)
        gevent.get_hub().threadpool.apply(hashlib.pbkdf2_hmac, arguments)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done\n"]
