"""A Pulsar broker of one's own: it confirms whatever a client asks, and has no messages.

The protocol is https://pulsar.apache.org/docs/developing-binary-protocol/: a frame is a size, the
size of a command and the command, which is a message of protobuf: its type, and in the field of
that number what belongs to it.
"""

from __future__ import annotations

import struct

CONNECT, CONNECTED = 2, 3
SUBSCRIBE, PRODUCER, SEND, SEND_RECEIPT = 4, 5, 6, 7
UNSUBSCRIBE, SUCCESS, CLOSE_PRODUCER, CLOSE_CONSUMER, PRODUCER_SUCCESS = 12, 13, 15, 16, 17
PING, PONG = 18, 19
METADATA, METADATA_RESPONSE, LOOKUP, LOOKUP_RESPONSE = 21, 22, 23, 24
SEEK, LAST_MESSAGE, LAST_MESSAGE_RESPONSE = 28, 29, 30
_REQUEST = {SUBSCRIBE: 5, PRODUCER: 3}
"""The number of a request's id, where it is not 2."""


def serve(connection, over):
    """Answer the commands of one client until it hangs up."""
    with connection.makefile("rb") as stream:
        while len(head := stream.read(8)) == 8:
            size, length = struct.unpack(">II", head)
            command = dict(_fields(stream.read(length)))
            stream.read(size - 4 - length)
            for kind, answer in _answers(command[1], dict(_fields(command.get(command[1], b"")))):
                body = _number(1, kind) + _bytes(kind, answer)
                connection.sendall(struct.pack(">II", len(body) + 4, len(body)) + body)


def _answers(kind, told):
    request = told.get(_REQUEST.get(kind, 2))
    if kind == CONNECT:
        yield CONNECTED, _bytes(1, b"evidence") + _number(2, 15)
    elif kind == METADATA:
        yield METADATA_RESPONSE, _number(1, 0) + _number(2, request) + _number(3, 0)
    elif kind == LOOKUP:
        # The broker is where the client is already.
        found = _bytes(1, b"pulsar://127.0.0.1:6650") + _number(3, 1) + _number(4, request)
        yield LOOKUP_RESPONSE, found + _number(5, 1) + _number(8, 1)
    elif kind == PRODUCER:
        yield PRODUCER_SUCCESS, _number(1, request) + _bytes(2, b"evidence")
    elif kind == SEND:
        message = _bytes(3, _number(1, 1) + _number(2, 1))
        yield SEND_RECEIPT, _number(1, told[1]) + _number(2, told.get(2, 0)) + message
    elif kind == LAST_MESSAGE:
        message = _bytes(1, _number(1, 1) + _number(2, 1))
        yield LAST_MESSAGE_RESPONSE, message + _number(2, request)
    elif kind == PING:
        yield PONG, b""
    elif kind in (SUBSCRIBE, UNSUBSCRIBE, CLOSE_PRODUCER, CLOSE_CONSUMER, SEEK):
        yield SUCCESS, _number(1, request)
    if kind == SEEK:
        # A broker has the consumer connect again.
        yield CLOSE_CONSUMER, _number(1, told[1]) + _number(2, 0)


def _fields(data):
    """Yield the number and the value of each field."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        if key & 7 == 0:
            value, place = _varint(data, place)
        elif key & 7 == 2:
            length, place = _varint(data, place)
            value, place = data[place : place + length], place + length
        else:
            length = 8 if key & 7 == 1 else 4
            value, place = data[place : place + length], place + length
        yield key >> 3, value


def _varint(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def _coded(value):
    coded = bytearray()
    while value > 127:
        coded.append(value & 127 | 128)
        value >>= 7
    return bytes([*coded, value])


def _number(field, value):
    return _coded(field << 3) + _coded(value)


def _bytes(field, value):
    return _coded(field << 3 | 2) + _coded(len(value)) + value
