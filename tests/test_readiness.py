"""Readiness of the object that a call waits for: tests, attributes and calls elsewhere."""

from __future__ import annotations

import pytest
from harness import assert_exactly

PIPE = "import multiprocessing, gevent\nc, d = multiprocessing.Pipe(duplex=False)\n"
QUEUE = "import multiprocessing\nq = multiprocessing.Queue()\n"
SOCKET = "import zmq, select\ns = zmq.Context().socket(zmq.PULL)\n"
FILE = "import os, select, selectors\n"


@pytest.mark.parametrize(
    "text",
    [
        "if c.poll():\n    c.recv()\n",
        "if c.poll() is True:\n    c.recv()\n",
        "if x and c.poll(0.1):\n    c.recv()\n",
        "while c.poll(0):\n    c.recv()\n",
        "if not c.poll():\n    pass\nelse:\n    c.recv()\n",
        "if x:\n    pass\nelif c.poll():\n    c.recv()\n",
        "def f():\n    if not c.poll():\n        return\n    c.recv()\n",
        "def f():\n    if not c.poll() or x:\n        raise ValueError\n"
        "    with y:\n        c.recv()\n",
        "while x:\n    if not c.poll(0.1):\n        continue\n    c.recv()\n",
        "while not c.poll():\n    gevent.sleep(0.1)\nc.recv()\n",
        "ready = c.poll(0.1)\nif ready:\n    c.recv()\n",
        "m = c.recv() if c.poll() else None\n",
        "m = c.poll() and c.recv()\n",
        "m = not c.poll() or c.recv()\n",
        "m = [c.recv() for c in [c] if c.poll()]\n",
        "if c.poll():\n    m = c.recv()\n    if c.poll():\n        c.recv()\n",
        "class A:\n    def __init__(self):\n        self.c, self.d = multiprocessing.Pipe(False)\n"
        "    def f(self):\n        if self.c.poll():\n            return self.c.recv()\n",
        "from multiprocessing.connection import wait\nfor one in wait([c]):\n    one.recv()\n",
        "from multiprocessing.connection import wait\nif c in wait([c], 1):\n    c.recv()\n",
    ],
)
def test_a_pipe_that_was_polled_does_not_wait(tmp_path, text):
    assert_exactly(tmp_path, PIPE + text)


@pytest.mark.parametrize(
    "text",
    [
        "if not c.poll():\n    c.recv()  # expect: blocking-call\n",
        "if c.poll() or x:\n    c.recv()  # expect: blocking-call\n",
        "if d.poll():\n    c.recv()  # expect: blocking-call\n",
        "if c.poll():\n    pass\nc.recv()  # expect: blocking-call\n",
        "if c.poll():\n    c.recv()\n    c.recv()  # expect: blocking-call\n",
        "if c.poll():\n    while True:\n        c.recv()  # expect: blocking-call\n",
        "if c.poll():\n    c, d = multiprocessing.Pipe(False)\n"
        "    c.recv()  # expect: blocking-call\n",
        "if not c.poll():\n    print(1)\nc.recv()  # expect: blocking-call\n",
        "while not c.poll():\n    if x:\n        break\nc.recv()  # expect: blocking-call\n",
        "m = c.recv() if not c.poll() else None  # expect: blocking-call\n",
        "m = c.poll() or c.recv()  # expect: blocking-call\n",
        "if c.poll():\n    f = lambda: c.recv()  # expect: blocking-call\n",
        "c.poll()\nc.recv()  # expect: blocking-call\n",
    ],
)
def test_a_test_counts_only_where_it_holds(tmp_path, text):
    assert_exactly(tmp_path, PIPE + text)


@pytest.mark.parametrize(
    "text",
    [
        "if not q.empty():\n    q.get()\n",
        "while not q.empty():\n    q.get()\n",
        "while q.qsize():\n    q.get()\n",
        "while q.qsize() > 0:\n    q.get()\n",
        "while 0 < q.qsize():\n    q.get()\n",
        "if q.qsize() >= 1:\n    q.get()\n",
        "if q.qsize() != 0:\n    q.get()\n",
        "def f():\n    if q.qsize() == 0:\n        return\n    q.get()\n",
        "def f():\n    if q.qsize() < 1:\n        return\n    q.get()\n",
        "if q.empty() is False:\n    q.get()\n",
        "if bool(q.qsize()):\n    q.get()\n",
        "def f():\n    if q.qsize() <= 0:\n        return\n    q.get()\n",
        "def f():\n    if 0 == q.qsize():\n        return\n    q.get()\n",
        "if 3 < q.qsize() < 9:\n    q.get()  # expect: blocking-call\n",
        "if q.qsize() == n:\n    q.get()  # expect: blocking-call\n",
        "if q.empty() == True:\n    pass\nelse:\n    q.get()\n",
        "for _ in range(q.qsize()):\n    q.get()\n",
        "xs = [q.get() for _ in range(q.qsize())]\n",
        "while True:\n    if q.empty():\n        break\n    q.get()\n",
        "if q.empty():\n    q.get()  # expect: blocking-call\n",
        "if q.qsize() == 0:\n    q.get()  # expect: blocking-call\n",
        "if q.qsize() < 5:\n    q.get()  # expect: blocking-call\n",
        "if q.full():\n    q.get()  # expect: blocking-call\n",
        "for _ in range(3):\n    q.get()  # expect: blocking-call\n",
        "if p.qsize() > 0:\n    q.get()  # expect: blocking-call\n",
        "if not p.qsize() < 1:\n    q.get()  # expect: blocking-call\n",
        "if p == []:\n    q.get()  # expect: blocking-call\n",
        "if len():\n    q.get()  # expect: blocking-call\n",
        "while True:\n    try:\n        break\n    finally:\n        pass\n"
        "q.get()  # expect: blocking-call\n",
    ],
)
def test_a_queue_that_is_not_empty_does_not_wait(tmp_path, text):
    assert_exactly(tmp_path, QUEUE + text)


@pytest.mark.parametrize(
    "text",
    [
        "r, _, _ = select.select([s], [], [], 0)\nif s in r:\n    s.recv()\n",
        "r, _, _ = select.select([s], [], [], 0)\nif r:\n    s.recv()\n",
        "r = select.select([s], [], [], 0)[0]\nif len(r) > 0:\n    s.recv()\n",
        "r = select.select([s], [], [], 0)[0]\nif r == []:\n    pass\nelse:\n    s.recv()\n",
        "r = select.select([x], [], [], 0)[0]\nif r == [s]:\n    s.recv()\n",
        "if select.select([s], [], [], 0)[0]:\n    s.recv()\n",
        "if select.select([s], [], [], 0) != ([], [], []):\n    s.recv()\n",
        "def f():\n    r, _, _ = select.select([s], [], [], 0)\n    if not r:\n        return\n"
        "    s.recv()\n",
        "r, _, _ = select.select([s], [], [], 0)\nif not s in r:\n    s.recv()"
        "  # expect: blocking-call\n",
        "r, _, _ = select.select([x], [], [], 0)\nif r:\n    s.recv()  # expect: blocking-call\n",
        "import zmq.green\np = zmq.green.Poller()\np.register(s, zmq.POLLIN)\n"
        "if p.poll(10):\n    s.recv()\n",
        "import zmq.green\np = zmq.green.Poller()\nready = dict(p.poll(10))\n"
        "if s in ready and ready[s] == zmq.POLLIN:\n    s.recv()\n",
        "import zmq.green\np = zmq.green.Poller()\nready = dict(p.poll(10))\n"
        "if ready.get(s) == zmq.POLLIN:\n    s.recv()\n",
        "import zmq.green\np = zmq.green.Poller()\nready = dict(p.poll(10))\n"
        "if s not in ready:\n    s.recv()  # expect: blocking-call\n",
        "s.RCVTIMEO = 0\ns.recv()\n",
        "while s.rcvmore:\n    s.recv()\n",
        "xs = s.recv_multipart() if s.rcvmore else []\n",
        "xs = [] if s.rcvmore else s.recv()  # expect: blocking-call\n",
        "s.RCVTIMEO = 100\ns.recv()  # expect: blocking-call\n",
    ],
)
def test_a_socket_that_select_has_returned_does_not_wait(tmp_path, text):
    assert_exactly(tmp_path, SOCKET + text)


@pytest.mark.parametrize(
    "text",
    [
        "r, _, _ = select.select([fd], [], [])\nif fd in r:\n    os.read(fd, 10)\n",
        "r, _, _ = select.select([f], [], [])\nif f in r:\n    os.read(f.fileno(), 10)\n",
        "r, _, _ = select.select([f.fileno()], [], [])\nfor one in r:\n    os.read(one, 10)\n",
        "p = select.poll()\nfor fd, event in p.poll():\n    os.read(fd, 10)\n",
        "xs = [os.read(fd, 10) for fd in select.select([fd], [], [])[0]]\n",
        "s = selectors.DefaultSelector()\nfor key, mask in s.select():\n    os.read(key.fd, 10)\n",
        "os.set_blocking(fd, False)\nos.read(fd, 10)\n",
        "os.read(fd, 10)  # expect: blocking-call\n",
        "import socket\ns = socket.create_connection(x)\nos.read(s.fileno(), 10)\n",
        "import socket\ns = socket.socket()\nfd = s.fileno()\nos.read(fd, 10)\n",
        "os.read(f.fileno(), 10)  # expect: blocking-call\n",
        "fd = os.open(x, os.O_RDONLY)\nos.read(fd, 10)\n",
        "import tempfile\nfd, name = tempfile.mkstemp()\nos.write(fd, x)\n",
        "import tempfile\nname, fd = tempfile.mkstemp()\n"
        "os.write(fd, x)  # expect: blocking-call\n",
        "fd = os.open('/dev/ttyS0', os.O_RDONLY)\nos.read(fd, 10)  # expect: blocking-call\n",
        "r, w = os.pipe()\nos.write(w, b'x')\n",
        "r, w = os.pipe()\nos.write(w, x)  # expect: blocking-call\n",
        "import gevent.socket\ngevent.socket.wait_read(0)\nos.read(0, 10)\n",
        "from gevent.socket import wait_read\ndef f(fd):\n    while True:\n"
        "        wait_read(fd)\n        x = os.read(fd, 10)\n",
        "from gevent.socket import wait_read\nwait_read(1)\n"
        "os.read(0, 9)  # expect: blocking-call\n",
        "from gevent.socket import wait_read\nwait_read(0)\nos.read(0, 9)\n"
        "os.read(0, 9)  # expect: blocking-call\n",
        "for fd in fds:\n    os.read(fd, 10)  # expect: blocking-call\n",
    ],
)
def test_a_descriptor_that_select_has_returned_does_not_wait(tmp_path, text):
    assert_exactly(tmp_path, FILE + text)


@pytest.mark.parametrize(
    "text",
    [
        "q.block = False\nq.receive()\n",
        "def f():\n    q.block = False\n    q.receive()\n",
        "class A:\n    def __init__(self):\n        self.q = posix_ipc.MessageQueue('/a')\n"
        "        self.q.block = False\n    def f(self):\n        self.q.receive()\n",
        "class A:\n    def __init__(self):\n        q = posix_ipc.MessageQueue('/a')\n"
        "        q.block = False\n        self.q = q\n    def f(self):\n        self.q.receive()\n",
        "q.block = True\nq.receive()  # expect: blocking-call\n",
        "q.block = x\nq.receive()  # expect: blocking-call\n",
        "p = q\np.name = False\nq.receive()  # expect: blocking-call\n",
        "q.block = False\nposix_ipc.MessageQueue('/a').receive()  # expect: blocking-call\n",
        "receive = posix_ipc.MessageQueue('/a').receive\nreceive()  # expect: blocking-call\n",
        "if x:\n    q.block = False\nelse:\n    q.block = True\n"
        "q.receive()  # expect: blocking-call\n",
    ],
)
def test_an_attribute_can_make_an_object_immediate(tmp_path, text):
    assert_exactly(tmp_path, f"import posix_ipc\nq = posix_ipc.MessageQueue('/a')\n{text}")


def test_a_function_that_is_called_back_once_it_is_ready_does_not_wait(tmp_path):
    text = """
        import asyncio, os

        def read():
            os.read(0, 10)

        def other():
            os.read(0, 10)  # expect: blocking-call

        async def main():
            loop = asyncio.get_running_loop()
            loop.add_reader(0, read)
            loop.add_reader(0, other)
            other()
        """
    assert_exactly(tmp_path, text)


def test_a_ready_call_is_no_poll_of_a_loop(tmp_path):
    text = """
        import multiprocessing
        q = multiprocessing.Queue()

        def drain(handle):
            while not q.empty():
                q.get()
        """
    assert_exactly(tmp_path, text)


PIPE_ENDS = "import errno, fcntl, os\nr, w = os.pipe()\n"
MARKING = (
    "def mark(fd):\n"
    "    flags = fcntl.fcntl(fd, fcntl.F_GETFL)\n"
    "    fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NONBLOCK)\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "fcntl.fcntl(r, fcntl.F_SETFL, os.O_NONBLOCK)\nos.read(r, 9)\n",
        f"{MARKING}mark(r)\nos.read(r, 9)\n",
        f"{MARKING}def outer(x, fd): mark(fd)\nouter(1, r)\nos.read(r, 9)\n",
        f"{MARKING}class A:\n    def __init__(self, fd):\n        self.fd = fd\n"
        "        mark(self.fd)\n    def read(self):\n        return os.read(self.fd, 9)\n",
        "import gevent.os\ngevent.os.make_nonblocking(r)\nos.read(r, 9)\n",
        "try:\n    os.read(r, 9)\nexcept BlockingIOError:\n    pass\n",
        "try:\n    os.read(r, 9)\nexcept OSError as error:\n"
        "    if error.errno != errno.EAGAIN: raise\n",
    ],
)
def test_a_descriptor_that_was_made_non_blocking_does_not_wait(tmp_path, text):
    assert_exactly(tmp_path, PIPE_ENDS + text)


@pytest.mark.parametrize(
    "text",
    [
        "fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)\n",
        "fcntl.fcntl(r, fcntl.F_SETFL, 0)\n",
        "fcntl.fcntl(r, fcntl.F_GETFL)\n",
        f"{MARKING}mark(w)\n",
        f"{MARKING}def outer(x, fd): mark(fd)\nouter(r, w)\n",
        "fcntl.fcntl(w, fcntl.F_GETFL, r)\n",
        "def mark(*fds): pass\nmark(0, r)\n",
        "try:\n    print(r)\nexcept BlockingIOError:\n    pass\n",
    ],
)
def test_another_descriptor_still_waits(tmp_path, text):
    assert_exactly(tmp_path, f"{PIPE_ENDS}{text}os.read(r, 9)  # expect: blocking-call\n")


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("import fcntl\ntry:\n    fcntl.flock(f, fcntl.LOCK_EX)  # W\n", True),
        ("import fcntl\ntry:\n    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)  # W\n", False),
        ("import fcntl\ntry:\n    fcntl.flock(f, how)  # W\n", False),
        ("s.RCVTIMEO = 2000\ntry:\n    s.recv()  # W\n", True),
        ("s.setsockopt(zmq.RCVTIMEO, 2000)\ntry:\n    s.recv()  # W\n", True),
        ("s.setsockopt(zmq.RCVTIMEO, 0)\ntry:\n    s.recv()  # W\n", False),
        ("try:\n    s.recv()  # W\n", True),
        ("try:\n    s.recv(zmq.NOBLOCK)  # W\n", False),
        ("try:\n    s.recv(how)  # W\n", False),
        ("try:\n    s.recv(flags=how)  # W\n", False),
    ],
)
def test_a_refusal_that_is_handled_says_nothing_where_flags_do(tmp_path, text, waits):
    socket = "import zmq\ns = zmq.Context().socket(zmq.REQ)\n"
    text = text.replace("  # W", "  # expect: blocking-call" if waits else "")
    assert_exactly(tmp_path, f"{socket}{text}except (zmq.Again, BlockingIOError):\n    pass\n")


@pytest.mark.parametrize(
    ("loop", "waits"),
    [
        ("while True:\n    if c.poll():\n        break\n", False),
        (
            "while True:\n    if not c.poll():\n        pass\n    else:\n        break\n",
            False,
        ),
        ("while True:\n    if x:\n        break\n    if c.poll():\n        break\n", True),
        ("while x:\n    if c.poll():\n        break\n", True),
    ],
)
def test_a_loop_may_end_only_once_an_object_is_ready(tmp_path, loop, waits):
    marker = "  # expect: blocking-call" if waits else ""
    assert_exactly(tmp_path, f"{PIPE}{loop}c.recv(){marker}\n")


@pytest.mark.parametrize(("kind", "waits"), [("zmq.green", False), ("zmq", True)])
def test_an_argument_may_be_cooperative(tmp_path, kind, waits):
    marker = "  # expect: blocking-call" if waits else ""
    assert_exactly(
        tmp_path,
        "import zmq\nimport zmq.green\nfrom zmq.utils.monitor import recv_monitor_message\n"
        f"s = {kind}.Socket({kind}.Context(), 0)\nrecv_monitor_message(s){marker}\n",
    )


def test_a_flag_keeps_its_meaning_where_the_project_assigns_it(tmp_path):
    assert_exactly(
        tmp_path,
        "import fcntl\nif not hasattr(fcntl, 'F_SETPIPE_SZ'):\n    fcntl.F_SETPIPE_SZ = 1031\n"
        "fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, 9)\n",
    )
