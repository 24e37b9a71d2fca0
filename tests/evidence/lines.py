"""Servers that speak in lines, and agree with whatever is said: mail, files, a WebSocket.

Each function serves one connection.
"""

from __future__ import annotations

import base64
import hashlib


def ftp(connection):
    """Let everybody in; there are no files."""
    _converse(connection, "220 evidence", {"USER": "331 password?", "PASS": "230 in"}, "200 done")


def pop3(connection):
    """A mailbox without mail."""
    _converse(connection, "+OK evidence", {"STAT": "+OK 0 0"}, "+OK")


def smtp(connection):
    """Take every message."""
    stream = connection.makefile("rw", encoding="utf-8", newline="\r\n")
    _say(stream, "220 evidence")
    answers = {"DATA": "354 go on", "QUIT": "221 bye"}
    for line in stream:
        command = line.split()[0].upper()
        _say(stream, answers.get(command, "250 done"))
        if command == "DATA":  # the message is answered once, at its end
            while stream.readline() not in (".\r\n", ""):
                pass
            _say(stream, "250 taken")


def _converse(connection, greeting, answers, otherwise):
    """Greet, and answer each line by its first word."""
    stream = connection.makefile("rw", encoding="utf-8", newline="\r\n")
    _say(stream, greeting)
    for line in stream:
        _say(stream, answers.get(line.split()[0].upper(), otherwise))


def imap(connection):
    """Greet, and carry out every command; there is nothing in any mailbox."""
    stream = connection.makefile("rw", encoding="utf-8", newline="\r\n")
    _say(stream, "* OK evidence")
    for line in stream:
        tag, command, *_ = line.split()
        if command.upper() == "CAPABILITY":
            _say(stream, "* CAPABILITY IMAP4rev1")
        _say(stream, f"{tag} OK done")


def _say(stream, line):
    # The stream makes it \r\n.
    stream.write(f"{line}\n")
    stream.flush()


_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455: what a key is answered with."""


def websocket(connection):
    """Shake hands, and send back the frames that come."""
    stream = connection.makefile("rb")
    accept = b""
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"sec-websocket-key":
            accept = base64.b64encode(hashlib.sha1(value.strip() + _MAGIC).digest())
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade"
    connection.sendall(head + b"\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    while len(head := stream.read(6)) == 6:
        # A short frame of a client: its mask follows the length.
        data = stream.read(head[1] & 0x7F)
        plain = bytes(byte ^ head[2 + n % 4] for n, byte in enumerate(data))
        connection.sendall(bytes([head[0], len(plain)]) + plain)
