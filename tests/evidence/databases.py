"""As much of some databases as it takes to get an answer: Debian has no server of theirs.

Each function serves one connection, and raises `ConnectionError` when the client has gone.
"""

from __future__ import annotations

import base64
import json
import struct
import time


def _exactly(stream, size):
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionError
    return data


# --- SQL Server's TDS: every statement succeeds, and returns nothing ---

_PRELOGIN, _LOGIN = 0x12, 0x10
_OPTIONS = struct.pack(">BHHBHHB", 0, 11, 6, 1, 17, 1, 0xFF) + bytes([16, 0, 0, 0, 0, 0, 2])
"""A version, and that there is no encryption."""
_INTEGER = struct.pack("<BHIHBB", 0x81, 1, 0, 0, 0x38, 1) + "n".encode("utf-16-le")
"""One column, whose name is n."""
_NAME = "evidence".encode("utf-16-le")


def tds(connection):
    """Log everybody in, and be done with every statement; "slow rows" are half a second apart."""
    stream = connection.makefile("rb")
    while True:
        kind, message, is_last = 0, b"", False
        while not is_last:
            kind, status, size = struct.unpack(">BBH4x", _exactly(stream, 8))
            message, is_last = message + _exactly(stream, size - 8), bool(status & 1)
        answer = struct.pack("<BHHQ", 0xFD, 0, 0, 0)
        if kind == _PRELOGIN:
            answer = _OPTIONS
        elif kind == _LOGIN:
            # The client says the version in the order of a little endian, and wants the other.
            body = b"\x01" + message[4:8][::-1] + bytes([len(_NAME) // 2]) + _NAME + bytes(4)
            answer = struct.pack("<BH", 0xAD, len(body)) + body + answer
        elif "slow rows".encode("utf-16-le") in message:
            first = _INTEGER + struct.pack("<Bi", 0xD1, 1)
            connection.sendall(struct.pack(">BBHHBB", 4, 0, len(first) + 8, 0, 1, 0) + first)
            time.sleep(0.5)
            answer = struct.pack("<BiBHHQ", 0xD1, 2, 0xFD, 0x10, 0, 2)
        connection.sendall(struct.pack(">BBHHBB", 4, 1, len(answer) + 8, 0, 1, 0) + answer)


# --- Aerospike: a node whose records are empty ---

_PARTITIONS = base64.b64encode(b"\xff" * 512).decode()
_FACTS = {
    "node": "BB9000000000000",
    "build": "7.0.0.0",
    "features": "peers;replicas;pquery;query-show",
    "partitions": "4096",
    "partition-generation": "1",
    "peers-generation": "1",
    "rebalance-generation": "1",
    "peers-clear-std": "1,3000,[]",
    "replicas": f"test:1,1,{_PARTITIONS}",
}
_DONE = struct.pack(">BBBBBBIIIHH", 22, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)


def aerospike(connection):
    """Answer as a cluster of one node that finds every key, but no record."""
    stream = connection.makefile("rb")
    while True:
        head = int.from_bytes(_exactly(stream, 8), "big")
        kind, asked = head >> 48 & 0xFF, _exactly(stream, head & (1 << 48) - 1)
        answer = _DONE
        if kind == 1:
            names = asked.decode().split()
            answer = "".join(f"{name}\t{_FACTS.get(name, '')}\n" for name in names).encode()
        connection.sendall((2 << 56 | kind << 48 | len(answer)).to_bytes(8, "big") + answer)


# --- Couchbase: a bucket without documents ---

_GET, _HELLO, _MECHANISMS, _ERRORS, _CONFIGURATION, _BUCKET = 0x00, 0x1F, 0x20, 0xFE, 0xB5, 0x89
_HAS_XERROR, _HAS_BUCKETS, _HAS_JSON = 0x07, 0x08, 0x0B
_HEAD = ">BBHBBHIIQ"


def couchbase(connection):
    """Take every password; whether there is a document "0.5" is known after half a second.

    The bucket "slow" takes half a second to open.
    """
    stream = connection.makefile("rb")
    port = connection.getsockname()[1]
    while True:
        head = struct.unpack(_HEAD, _exactly(stream, 24))
        _, code, key_size, extra_size, _, _, size, opaque, _ = head
        body = _exactly(stream, size)
        key = body[extra_size : extra_size + key_size]
        status, extras, answer = 0, b"", b""
        if code == _HELLO:
            wanted = (_HAS_XERROR, _HAS_BUCKETS, _HAS_JSON)
            answer = struct.pack(f">{len(wanted)}H", *wanted)
        elif code == _MECHANISMS:
            answer = b"PLAIN"
        elif code == _ERRORS:
            answer = b'{"version": 1, "revision": 1, "errors": {}}'
        elif code == _CONFIGURATION:
            answer = json.dumps(_configuration(port)).encode()
        elif code == _GET:
            time.sleep(float(key))
            status = 1
        elif (code, key) == (_BUCKET, b"slow"):
            time.sleep(0.5)
        size = len(extras) + len(answer)
        kind = 1 if code == _CONFIGURATION else 0
        packed = struct.pack(_HEAD, 0x81, code, 0, len(extras), kind, status, size, opaque, 0)
        connection.sendall(packed + extras + answer)


def _configuration(port):
    return {
        "rev": 1,
        "revEpoch": 1,
        "name": "test",
        "uuid": "0" * 32,
        "nodeLocator": "vbucket",
        "bucketCapabilities": ["couchapi", "dcp", "xattr", "nodesExt", "cccp"],
        "nodesExt": [{"services": {"kv": port}, "thisNode": True, "hostname": "127.0.0.1"}],
        "nodes": [{"hostname": "127.0.0.1:8091", "ports": {"direct": port}}],
        "vBucketServerMap": {
            "hashAlgorithm": "CRC",
            "numReplicas": 0,
            "serverList": [f"127.0.0.1:{port}"],
            "vBucketMap": [[0]] * 1024,
        },
    }


# --- DB2's DRDA, as Derby speaks it: the driver wants no licence of that ---


def _part(code, *parts):
    data = b"".join(parts)
    return struct.pack(">HH", len(data) + 4, code) + data


def _name(code, text):
    return _part(code, text.encode("cp500"))


_REPLY, _OBJECT = 2, 3
_SUCCESS = (_OBJECT, _part(0x2408, b"\xff"))
_ANSWERS = {
    # Who are you?
    0x1041: [
        (
            _REPLY,
            _part(
                0x1443,
                _name(0x115E, "evidence"),
                _part(0x1404, struct.pack(">8H", 0x1403, 7, 0x2407, 7, 0x240F, 7, 0x1440, 7)),
                _name(0x1147, "QDERBY/JVM"),
                _name(0x116D, "evidence"),
                _name(0x115A, "CSS10140"),
            ),
        )
    ],
    # How shall I prove who I am? With a password.
    0x106D: [(_REPLY, _part(0x14AC, _part(0x11A2, b"\0\3")))],
    0x106E: [(_REPLY, _part(0x1219, _part(0x1149, bytes(2)), _part(0x11A4, b"\0")))],
    # The database is opened.
    0x2001: [
        (
            _REPLY,
            _part(
                0x2201,
                _part(0x1149, bytes(2)),
                _name(0x112E, "CSS10140"),
                _name(0x002F, "QTDSQLX86"),
                _part(0x0035, bytes.fromhex("0006119c04b8 0006119e04b8 0006119d04b0")),
            ),
        )
    ],
    # A statement is executed, and committed.
    0x200A: [_SUCCESS],
    0x200E: [(_REPLY, _part(0x220C, _part(0x1149, b"\0\4"), _part(0x2115, b"\1"))), _SUCCESS],
}
_CHAINED, _OF_THE_SAME = 0x40, 0x10


def drda(connection):
    """Let everybody in, and succeed with every statement that is executed at once."""
    stream, answers = connection.makefile("rb"), []
    while True:
        size, flags, number = struct.unpack(">HxBH", _exactly(stream, 6))
        code = int.from_bytes(_exactly(stream, size - 6)[2:4], "big")
        answers += [(number, *answer) for answer in _ANSWERS.get(code, [])]
        if flags & _CHAINED:
            continue
        message = b""
        for answer, after in zip(answers, [*answers[1:], None], strict=True):
            chain = 0 if after is None else _CHAINED
            if after is not None and after[0] == answer[0]:
                chain |= _OF_THE_SAME
            number, kind, data = answer
            message += struct.pack(">HBBH", len(data) + 6, 0xD0, kind | chain, number) + data
        connection.sendall(message)
        answers.clear()


# --- Snowflake: one session, in which every query gives 1 ---

_COLUMN = {"name": "1", "type": "fixed", "precision": 1, "scale": 0, "nullable": False}
_SESSION = {"token": "t", "masterToken": "m", "sessionId": 1, "parameters": [], "sessionInfo": {}}
_RESULT = {
    "rowtype": [_COLUMN],
    "rowset": [["1"]],
    "total": 1,
    "returned": 1,
    "queryId": "01b0a0a0-0000-0000-0000-000000000001",
    "queryResultFormat": "json",
    "statementTypeId": 4096,
    "parameters": [],
}


_CHUNK = '["2"],["3"]'


def snowflake(connection):
    """Answer over HTTP, as long as the client keeps the connection.

    A first row comes with the result; the others are a chunk, which takes half a second.
    """
    port = connection.getsockname()[1]
    chunk = {"url": f"http://127.0.0.1:{port}/chunk", "rowCount": 2}
    sizes = {"uncompressedSize": len(_CHUNK), "compressedSize": len(_CHUNK)}
    parts = {"chunks": [{**chunk, **sizes}], "chunkHeaders": {}, "qrmk": "k"}
    in_parts = {**_RESULT, "total": 3, "returned": 3, **parts}

    def answer(path):
        if b"/chunk" in path:
            time.sleep(0.5)
            return _CHUNK
        data = _SESSION if b"login-request" in path else in_parts if b"query" in path else None
        return json.dumps({"success": True, "data": data, "code": None, "message": None})

    _over_http(connection, answer, "application/json")


def _over_http(connection, answer, kind, *fields):
    """Answer every request with a text for its path, and with header fields."""
    stream = connection.makefile("rb")
    while True:
        path, size = _exactly(stream, 1) + stream.readline(), 0
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        _exactly(stream, size)
        body = answer(path).encode()
        head = (f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields)
        lines = "\r\n".join(["HTTP/1.1 200 OK", *head, "", ""])
        connection.sendall(lines.encode() + body)


# --- Elasticsearch and S3: there is nothing in them ---


def elasticsearch(connection):
    """Find nothing, whatever is searched for."""
    found = json.dumps({"took": 0, "timed_out": False, "hits": {"hits": []}})
    product = "X-Elastic-Product: Elasticsearch"
    _over_http(connection, lambda path: found, "application/json", product)


def s3(connection):
    """A store without buckets."""
    empty = "<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>"
    _over_http(connection, lambda path: empty, "application/xml")


# --- MongoDB: a primary whose collections are empty ---

_QUERY, _REPLY_TO_QUERY, _MESSAGE = 2004, 1, 2013


def _document(**fields):
    """BSON, of as many types as it takes here."""
    data = b""
    for name, value in fields.items():
        kind, encoded = {
            bool: lambda v: (8, bytes([v])),
            bytes: lambda v: (3, v),
            float: lambda v: (1, struct.pack("<d", v)),
            int: lambda v: (18, struct.pack("<q", v)),
            list: lambda v: (4, _document()),
            str: lambda v: (2, struct.pack("<i", len(v) + 1) + v.encode() + b"\0"),
        }[type(value)](value)
        data += bytes([kind]) + name.encode() + b"\0" + encoded
    return struct.pack("<i", len(data) + 5) + data + b"\0"


_EVERYTHING = _document(
    ok=1.0,
    isWritablePrimary=True,
    ismaster=True,
    helloOk=True,
    minWireVersion=0,
    maxWireVersion=21,
    maxBsonObjectSize=16 << 20,
    maxMessageSizeBytes=48_000_000,
    maxWriteBatchSize=100_000,
    cursor=_document(id=0, ns="test.test", firstBatch=[]),
)


def mongodb(connection):
    """Answer every command with who this is, and that nothing was found."""
    stream = connection.makefile("rb")
    while True:
        size, request, _, code = struct.unpack("<4i", _exactly(stream, 16))
        _exactly(stream, size - 16)
        if code == _QUERY:
            kind, body = _REPLY_TO_QUERY, struct.pack("<iqii", 8, 0, 0, 1) + _EVERYTHING
        else:
            kind, body = _MESSAGE, struct.pack("<ib", 0, 0) + _EVERYTHING
        connection.sendall(struct.pack("<4i", len(body) + 16, 1, request, kind) + body)
