"""The servers that scenarios speak to: real ones of this machine, private ones, and a few of ours.

Each is a context manager that takes the interpreter of the measured environment and gives the
names under which a scenario finds the server: at least `host` and `port`. `MissingError` says why
there is none. With `slow-` before its name, a server stands behind a proxy that delays answers.
"""

from __future__ import annotations

import contextlib
import getpass
import http.server
import os
import queue
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from . import databases, lines, pulsar

LOOPBACK = "127.0.0.1"
_START = 15.0
"""Seconds that a server gets to start."""


class MissingError(Exception):
    """This machine has no such server."""


def _service(port, **names):
    """A server that runs on this machine already."""

    @contextlib.contextmanager
    def started(python):
        try:
            socket.create_connection((LOOPBACK, port), timeout=2).close()
        except OSError:
            raise MissingError(f"nothing listens on port {port}") from None
        yield {"host": LOOPBACK, "port": port, **names}

    return started


def free_port():
    """Return a port that is free at the moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _process(command, port, **options):
    """A process of ours that listens on a port."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        **options,
    )  # fmt: skip
    try:
        end = time.monotonic() + _START
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection((LOOPBACK, port), timeout=1).close()
                break
            if process.poll() is not None or time.monotonic() > end:
                raise MissingError(f"{command[0]} did not start (exit code {process.poll()})")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _binary(*names):
    for name in names:
        found = shutil.which(name, path="/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin:/bin")
        if found:
            return found
    raise MissingError(f"there is no {' or '.join(names)}")


@contextlib.contextmanager
def memcached(python):
    """Debian's memcached, on a port of its own."""
    port = free_port()
    command = [_binary("memcached"), "-u", "nobody", "-l", LOOPBACK, "-p", str(port), "-U", "0"]
    with _process(command, port):
        yield {"host": LOOPBACK, "port": port}


_SLAPD = """
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {directory}/slapd.pid
database mdb
suffix "dc=example,dc=org"
rootdn "cn=admin,dc=example,dc=org"
rootpw secret
directory {directory}
TLSCertificateFile {directory}/certificate.pem
TLSCertificateKeyFile {directory}/key.pem
"""


@contextlib.contextmanager
def slapd(python):
    """Debian's OpenLDAP server, with an empty database of its own."""
    binary, port = _binary("slapd"), free_port()
    with tempfile.TemporaryDirectory() as directory:
        settings = Path(directory, "slapd.conf")
        settings.write_text(_SLAPD.format(directory=directory), encoding="utf-8")
        _certificate(directory)
        url = f"ldap://{LOOPBACK}:{port}/"
        with _process([binary, "-d", "0", "-f", str(settings), "-h", url], port):
            names = {"base": "dc=example,dc=org", "user": "cn=admin,dc=example,dc=org"}
            yield {"host": LOOPBACK, "port": port, "url": url, "password": "secret", **names}


def _certificate(directory):
    """Make a self-signed certificate: `certificate.pem` and `key.pem`."""
    command = [_binary("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes"]
    command += ["-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "certificate.pem"]
    _run(command, cwd=directory)


def _run(command, **options):
    """Run what a server needs before it starts."""
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, **options)
    if run.returncode:
        raise MissingError(f"{command[0]} failed: {run.stderr.decode(errors='replace').strip()}")


_SSHD = """
ListenAddress {host}
Port {port}
HostKey {directory}/host
AuthorizedKeysFile {directory}/client.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""


@contextlib.contextmanager
def sshd(python):
    """OpenSSH's server, with keys of its own; this user gets in with the private one of them."""
    binary, port = _binary("sshd"), free_port()
    Path("/run/sshd").mkdir(exist_ok=True)  # without it, sshd does not start
    with tempfile.TemporaryDirectory() as directory:
        for name in ("host", "client"):
            key = str(Path(directory, name))
            _run([_binary("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", key])
        settings = Path(directory, "sshd_config")
        text = _SSHD.format(host=LOOPBACK, port=port, directory=directory)
        settings.write_text(text, encoding="utf-8")
        with _process([binary, "-D", "-f", str(settings)], port):
            names = {"user": getpass.getuser(), "key": str(Path(directory, "client"))}
            yield {"host": LOOPBACK, "port": port, **names}


_KRB5 = """
[libdefaults]
default_realm = EXAMPLE.ORG
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
[realms]
EXAMPLE.ORG = {{ }}
"""
_KDC = """
[kdcdefaults]
kdc_listen = ""
kdc_tcp_listen = {host}:{port}
[realms]
EXAMPLE.ORG = {{
    database_name = {directory}/principal
    key_stash_file = {directory}/stash
    acl_file = {directory}/acl
}}
"""


@contextlib.contextmanager
def kdc(python):
    """MIT's Kerberos server for EXAMPLE.ORG, over TCP, with a `user` and an `HTTP/localhost`."""
    binary, port = _binary("krb5kdc"), free_port()
    with tempfile.TemporaryDirectory() as directory:
        texts = {"krb5.conf": _KRB5, "kdc.conf": _KDC}
        for name, text in texts.items():
            filled = text.format(host=LOOPBACK, port=port, directory=directory)
            Path(directory, name).write_text(filled, encoding="utf-8")
        environment = {
            **os.environ,
            "KRB5_CONFIG": str(Path(directory, "krb5.conf")),
            "KRB5_KDC_PROFILE": str(Path(directory, "kdc.conf")),
        }
        _run([_binary("kdb5_util"), "create", "-s", "-P", "master"], env=environment)
        for principal in ("-pw secret user", "-randkey HTTP/localhost"):
            command = [_binary("kadmin.local"), "-q", f"addprinc {principal}"]
            _run(command, env=environment)
        with _process([binary, "-n"], port, env=environment):
            yield {"host": LOOPBACK, "port": port, "user": "user", "password": "secret"}


_FIREBIRD = """
RemoteServicePort = {port}
RemoteBindAddress = 127.0.0.1
SecurityDatabase = {directory}/security.fdb
AuthServer = Srp
UserManager = Srp
WireCrypt = Disabled
"""
_SYSDBA = """
create database '{directory}/security.fdb';
create user sysdba password 'secret';
commit;
create database '{directory}/data.fdb';
"""


@contextlib.contextmanager
def firebird(python):
    """Debian's Firebird server, with users and a database of its own."""
    binary, sql, port = _binary("firebird"), _binary("isql-fb"), free_port()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for one in Path("/usr/lib").glob("*/firebird/*/*"):
            if one.name in {"plugins", "plugins.conf", "intl", "firebird.msg"}:
                (root / one.name).symlink_to(one)
        settings = _FIREBIRD.format(port=port, directory=directory)
        (root / "firebird.conf").write_text(settings, encoding="utf-8")
        (root / "databases.conf").touch()
        private = {"FIREBIRD": directory, "FIREBIRD_LOCK": directory, "FIREBIRD_TMP": directory}
        options = {"cwd": directory, "env": {**os.environ, **private}}
        first = _SYSDBA.format(directory=directory).encode()
        command = [sql, "-q", "-user", "sysdba"]
        if subprocess.run(command, input=first, capture_output=True, **options).returncode:
            raise MissingError("Firebird's databases cannot be made")
        with _process([binary], port, **options):
            names = {"user": "sysdba", "password": "secret"}
            dsn = f"{LOOPBACK}/{port}:{directory}/data.fdb"
            yield {"host": LOOPBACK, "port": port, "dsn": dsn, **names}


class _Slow(http.server.BaseHTTPRequestHandler):
    """Answers /0.5 after half a second."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        time.sleep(float(self.path.strip("/") or 0))
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def do_POST(self):
        self.do_GET()

    def log_message(self, *arguments):
        """Say nothing."""


@contextlib.contextmanager
def slow_http(python):
    """An HTTP server that answers `GET /0.5` after half a second."""
    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), _Slow)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    port = server.server_address[1]
    try:
        yield {"host": LOOPBACK, "port": port, "url": f"http://{LOOPBACK}:{port}/"}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def black_hole(python):
    """Accepts every connection, and never answers."""
    with _listening(lambda connection, over: _swallow(connection)) as port:
        yield {"host": LOOPBACK, "port": port}


@contextlib.contextmanager
def pulsar_broker(python):
    """A Pulsar broker that confirms everything, and has no messages: see `pulsar.py`."""
    with _listening(pulsar.serve) as port:
        yield {"host": LOOPBACK, "port": port, "url": f"pulsar://{LOOPBACK}:{port}"}


@contextlib.contextmanager
def tls(python):
    """Shakes hands, and never says anything."""
    with tempfile.TemporaryDirectory() as directory:
        _certificate(directory)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate = Path(directory, "certificate.pem")
        context.load_cert_chain(certificate, Path(directory, "key.pem"))

        def serve(connection, over):
            with context.wrap_socket(connection, server_side=True) as encrypted:
                _swallow(encrypted)

        with _listening(serve) as port:
            yield {"host": LOOPBACK, "port": port}


def _swallow(connection):
    with contextlib.suppress(OSError):
        while connection.recv(65536):
            pass


@contextlib.contextmanager
def hang_up(python):
    """Accepts every connection, and closes it after half a second."""
    with _listening(_linger) as port:
        yield {"host": LOOPBACK, "port": port}


def _linger(connection, over):
    end = time.monotonic() + 0.5
    # What was not read would make the end a reset.
    with contextlib.suppress(TimeoutError):
        while (left := end - time.monotonic()) > 0 and not over.is_set():
            connection.settimeout(left)
            if not connection.recv(65536):
                return


@contextlib.contextmanager
def unreachable(python):
    """A port whose queue is full: connecting to it does not come to an end."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((LOOPBACK, 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(8):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        yield {"host": LOOPBACK, "port": address[1]}


@contextlib.contextmanager
def _listening(serve):
    """Accept on a port of our own, and give every connection a thread."""
    over, connections = threading.Event(), []
    listener = socket.create_server((LOOPBACK, 0))

    def handle(connection):
        with connection, contextlib.suppress(OSError):
            serve(connection, over)

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        for one in (listener, *connections):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        thread.join(5)


def _speaking(serve, **names):
    """A server of ours; `serve(connection)` speaks its protocol."""

    @contextlib.contextmanager
    def started(python):
        with _listening(lambda connection, over: serve(connection)) as port:
            yield {"host": LOOPBACK, "port": port, **names}

    return started


_GRPC = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import grpc

def wait(request, context):
    time.sleep(float(request or b"0"))
    return request

def stream(request, context):
    for _ in range(3):
        time.sleep(float(request or b"0"))
        yield request

def together(requests, context):
    return wait(b"".join(requests), context)

def each(requests, context):
    for request in requests:
        yield wait(request, context)

handlers = {
    "Wait": grpc.unary_unary_rpc_method_handler(wait),
    "Stream": grpc.unary_stream_rpc_method_handler(stream),
    "Together": grpc.stream_unary_rpc_method_handler(together),
    "Each": grpc.stream_stream_rpc_method_handler(each),
}

class Others(grpc.GenericRpcHandler):
    def service(self, details):
        answers = Path(sys.argv[2], details.method.rpartition("/")[2])

        def answer(requests, context):
            next(requests)
            message = answers.read_bytes() if answers.exists() else b""
            time.sleep(0.5)
            yield message

        return grpc.stream_stream_rpc_method_handler(answer)

server = grpc.server(ThreadPoolExecutor(16))
known = grpc.method_handlers_generic_handler("evidence.Slow", handlers)
server.add_generic_rpc_handlers((known, Others()))
server.add_insecure_port("127.0.0.1:" + sys.argv[1])
server.start()
server.wait_for_termination()
"""


@contextlib.contextmanager
def grpc_server(python):
    """A gRPC server that implements every method.

    `/evidence.Slow/Wait`, `/Stream`, `/Together` and `/Each` take seconds as bytes and wait so
    long. Any other method answers after half a second with an empty message, or with the one
    that `answer(grpc_server, method, message)` gave; so does a stream, and ends.
    """
    port = free_port()
    _check(python, "grpc")
    with (
        tempfile.TemporaryDirectory() as answers,
        _process([python, "-c", _GRPC, str(port), answers], port),
    ):
        names = {"target": f"{LOOPBACK}:{port}", "answers": answers}
        yield {"host": LOOPBACK, "port": port, **names}


_I2C = """
import stat, sys, time
import fuse

class Bus(fuse.Operations):
    def getattr(self, path, handle=None):
        kind = stat.S_IFDIR if path == "/" else stat.S_IFREG
        return {"st_mode": kind | 0o600, "st_nlink": 1, "st_size": 0}

    def open(self, path, flags):
        return 3

    def ioctl(self, path, command, *rest):
        if command == 0x0720:  # I2C_SMBUS, a transfer
            time.sleep(0.5)
        return 0

fuse.FUSE(Bus(), sys.argv[1], foreground=True)
"""


@contextlib.contextmanager
def i2c(python):
    """A slow bus: a file, in user space, on which each transfer by `ioctl` takes 0.5 s."""
    _check(python, "fuse")
    unmount = [_binary("fusermount", "fusermount3"), "-uz"]
    directory = tempfile.mkdtemp(prefix="evidence-bus-")
    process = subprocess.Popen([python, "-c", _I2C, directory], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + _START
        while not os.path.ismount(directory):
            if process.poll() is not None or time.monotonic() > end:
                raise MissingError("a file system in user space cannot be mounted")
            time.sleep(0.05)
        yield {"path": os.path.join(directory, "bus")}
    finally:
        subprocess.run([*unmount, directory], capture_output=True, check=False)
        process.kill()
        process.wait()
        os.rmdir(directory)


_ZEROMQ = """
import sys, time
import zmq

socket = zmq.Context().socket(zmq.REP)
socket.bind("tcp://127.0.0.1:" + sys.argv[1])
while True:
    seconds = socket.recv()
    time.sleep(float(seconds or b"0"))
    socket.send(seconds)
"""


@contextlib.contextmanager
def zeromq(python):
    """A REP socket that takes seconds as bytes and gives them back so much later."""
    port = free_port()
    _check(python, "zmq")
    with _process([python, "-c", _ZEROMQ, str(port)], port):
        yield {"host": LOOPBACK, "port": port, "url": f"tcp://{LOOPBACK}:{port}"}


def _check(python, module):
    if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
        raise MissingError(f"{python} has no {module}")


class _Proxy:
    """Stands before a server: what the server says comes `seconds` later."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.seconds = 0.0

    def control(self, connection, over):
        self.seconds = float(connection.makefile().readline())
        connection.sendall(b".")

    def serve(self, client, over):
        with socket.create_connection(self.target) as server:
            pending = queue.SimpleQueue()
            threads = [
                threading.Thread(target=self.read, args=(server, pending), daemon=True),
                threading.Thread(target=self.write, args=(client, pending), daemon=True),
            ]
            for thread in threads:
                thread.start()
            with contextlib.suppress(OSError):
                while data := client.recv(65536):
                    server.sendall(data)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            for thread in threads:
                thread.join()

    def read(self, server, pending):
        data = b"."
        while data:
            try:
                data = server.recv(65536)
            except OSError:
                data = b""
            pending.put((time.monotonic() + self.seconds, data))

    def write(self, client, pending):
        with contextlib.suppress(OSError):
            while True:
                due, data = pending.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)


@contextlib.contextmanager
def delayed(start, python):
    """A server behind a proxy of its own, whose answers `delay(server, seconds)` makes late."""
    with start(python) as names:
        proxy = _Proxy(names["host"], names["port"])
        with _listening(proxy.serve) as port, _listening(proxy.control) as control:
            moved = {
                name: re.sub(rf"\b{names['port']}\b", str(port), value)
                for name, value in names.items()
                if isinstance(value, str)
            }
            yield {**names, **moved, "port": port, "control": control}


KNOWN = {
    "aerospike": _speaking(databases.aerospike),
    "black-hole": black_hole,
    "couchbase": _speaking(databases.couchbase),
    "drda": _speaking(databases.drda),
    "elasticsearch": _speaking(databases.elasticsearch),
    "firebird": firebird,
    "ftp": _speaking(lines.ftp),
    "grpc-server": grpc_server,
    "hang-up": hang_up,
    "i2c": i2c,
    "imap": _speaking(lines.imap),
    "kdc": kdc,
    "mariadb": _service(3306, user="root", password="", database="test"),
    "memcached": memcached,
    "mongodb": _speaking(databases.mongodb),
    "mosquitto": _service(1883),
    "nats": _service(4222, url="nats://127.0.0.1:4222"),
    "pop3": _speaking(lines.pop3),
    "postgresql": _service(
        5432, user="postgres", database="test",
        dsn="host=127.0.0.1 port=5432 user=postgres dbname=test",
    ),
    "pulsar-broker": pulsar_broker,
    "rabbitmq": _service(5672, user="guest", password="guest", url="amqp://127.0.0.1:5672/"),
    "redis": _service(6379, url="redis://127.0.0.1:6379/0"),
    "s3": _speaking(databases.s3),
    "slapd": slapd,
    "slow-http": slow_http,
    "smtp": _speaking(lines.smtp),
    "snowflake": _speaking(databases.snowflake),
    "sshd": sshd,
    "tds": _speaking(databases.tds),
    "tls": tls,
    "unreachable": unreachable,
    "websocket": _speaking(lines.websocket),
    "zeromq": zeromq,
}  # fmt: skip
SLOW = "slow-"


def is_known(need):
    """Return whether a scenario can need this."""
    return need in KNOWN or need.removeprefix(SLOW) in KNOWN


def name(need):
    """Under which name a scenario finds it: `slow-postgresql` is `postgresql`, too."""
    return (need if need in KNOWN else need.removeprefix(SLOW)).replace("-", "_")


@contextlib.contextmanager
def running(needs, python):
    """Start all that a scenario needs; gives each server's names by the server's name.

    Raises:
        MissingError: if one of them is not to be had here.
    """
    with contextlib.ExitStack() as stack:
        found = {}
        for need in needs:
            if need in KNOWN:
                manager = KNOWN[need](python)
            else:
                manager = delayed(KNOWN[need.removeprefix(SLOW)], python)
            try:
                found[name(need)] = stack.enter_context(manager)
            except MissingError as error:
                raise MissingError(f"{need}: {error}") from None
        yield found
