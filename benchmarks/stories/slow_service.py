"""An HTTP service that takes its time: ``GET /SECONDS`` answers that many seconds later."""

from gevent import monkey

monkey.patch_all()

import sys

import gevent
from gevent.pywsgi import WSGIServer


def application(environ, start_response):
    gevent.sleep(float(environ["PATH_INFO"].strip("/") or 0))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done\n"]


WSGIServer(("127.0.0.1", int(sys.argv[1])), application, log=None, backlog=4096).serve_forever()
