"""A web service whose invoices are numbered by a file. One request can freeze all the others.

    GBLOCK_PROBE=1 GBLOCK_PROBE_DIR=probe gunicorn -k gevent examples.shop.service:app
"""

import fcntl

COUNTER = "invoices.txt"


def next_number():
    with open(COUNTER, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        number = len(file.readlines()) + 1
        file.write(f"{number}\n")
    return number


def app(environ, start_response):
    answer = "ok\n"
    if environ["PATH_INFO"] == "/invoice":
        answer = f"invoice {next_number()}\n"
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [answer.encode()]
