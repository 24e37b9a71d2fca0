# What the set-up and the call of every scenario may use. Run in the measured process, as its own.
import os
import subprocess
import sys
import tempfile
from contextlib import suppress  # noqa: F401 - used by scenarios
from types import SimpleNamespace  # noqa: F401 - imported by servers

from gevent.monkey import get_original

pause = get_original("time", "sleep")


def later(seconds, function, *arguments):
    """Call a function from a native thread. Nothing measured starts within 0.1 s of the set-up."""

    def run():
        pause(seconds)
        function(*arguments)

    get_original("_thread", "start_new_thread")(run, ())


def other(code, *arguments):
    """Run a Python of its own until it prints a line, and let it go on; returns the process."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def elsewhere(function):
    """Call a function of `__main__` in a process of its own, which is forked: it has our data."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(function).result()


def standard_input():
    """Put a pipe in the place of standard input; returns the end to write to."""
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    return writer


def path(name):
    """Return the path of a file in a new directory, which goes away with the trial."""
    return os.path.join(tempfile.mkdtemp(), name)


def file_of(megabytes):
    """Write a file of that size and return its path."""
    name = path("data")
    with open(name, "wb") as file:
        file.writelines(os.urandom(1000) * 1000 for _ in range(megabytes))
    return name


def delay(server, seconds):
    """From here on, let each answer of a `slow-` server come that much later."""
    import socket

    with socket.create_connection((server.host, server.control)) as connection:
        connection.sendall(f"{seconds}\n".encode())
        connection.recv(1)


def redirect(server):
    """From here on, let each connection of this process lead to a server, whatever its host."""
    import socket

    address = server.host, server.port
    create, look_up, connect = socket.create_connection, socket.getaddrinfo, socket.socket.connect
    socket.create_connection = lambda _, *rest, **options: create(address, *rest, **options)
    socket.getaddrinfo = lambda host, port, *rest, **options: look_up(*address, *rest, **options)
    socket.socket.connect = lambda self, _: connect(self, address)


def answer(server, method, message):
    """Let a gRPC server answer a method with a message, which may be one of protobuf."""
    data = message if isinstance(message, bytes) else message.SerializeToString()
    with open(os.path.join(server.answers, method), "wb") as file:
        file.write(data)


def text(megabytes):
    """Return bytes that look like text: they can be compressed, but not to nothing."""
    import random

    words = [f"{random.Random(n).getrandbits(40):x}" for n in range(5000)]
    line = " ".join(words).encode() + b"\n"
    return line * (megabytes * 1_000_000 // len(line))


def rows(number):
    """Return rows of 10 columns, as of a workbook that a person works with."""
    return [
        [n, f"customer {n}", n * 1.5, "a text of a cell", "2026-01-01", n % 7, "DE", n / 3, "x", ""]
        for n in range(number)
    ]


def files(number):
    """Write files of 100 kB, one fifth of which cannot be compressed; returns their directory."""
    directory = tempfile.mkdtemp()
    words = text(1)[:80_000]
    for n in range(number):
        with open(os.path.join(directory, f"f{n}"), "wb") as file:
            file.write(os.urandom(20_000) + words)
    return directory


def photo():
    """Return a JPEG of 12 megapixels and 4.5 MB, with structure and noise as a camera's."""
    import io

    from PIL import Image

    shapes = Image.effect_noise((1000, 750), 70).resize((4000, 3000), Image.BICUBIC)
    noise = Image.effect_noise((4000, 3000), 12)
    bands = [Image.blend(shapes.rotate(angle), noise, 0.3) for angle in (0, 90, 180)]
    file = io.BytesIO()
    Image.merge("RGB", bands).save(file, "JPEG", quality=88)
    return file.getvalue()


def page(kilobytes):
    """Return a web page of that size."""
    part = (
        '<div class="card a{0}"><h2 id="t{0}">A title</h2><p>Some <b>text</b> of a '
        '<a href="/l/{0}">line</a> with words that people read on a page, and more of them.</p>'
        "<ul><li>one</li><li>two</li></ul></div>\n"
    )
    parts = "".join(part.format(n) for n in range(kilobytes * 1000 // len(part)))
    return f"<!DOCTYPE html><html><head><title>A page</title></head><body>{parts}</body></html>"
