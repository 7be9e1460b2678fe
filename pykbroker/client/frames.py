"""Frames over a blocking socket: four bytes of size, then as many bytes; everything has a time by which it must have happened."""

from __future__ import annotations

import socket
from typing import Final

from pykbroker.runtime.clock import SystemClock

#: The first bytes of HTTP or TLS, read as a size, are larger.
LARGEST_RESPONSE: Final = 256 * 1024 * 1024
_PIECE: Final = 1 << 20


class NotAFrame(OSError):
    """The size is none that a response of Kafka's protocol has."""


class FrameSocket:
    """A connected socket. ``due`` is a time of ``now``; methods raise OSError, TimeoutError when it is over."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, frame: bytes, due: float) -> None:
        """Send a frame with its size."""
        self._socket.settimeout(_left(due))
        self._socket.sendall(frame)

    def receive(self, due: float, largest: int = LARGEST_RESPONSE, *, seconds_per_byte: float = 0.0) -> bytes:
        """Return the next frame, without its size, which may take longer by its bytes. Raises EOFError if the other side closed the
        connection, NotAFrame for a size beyond ``largest``, and OSError.
        """
        size = int.from_bytes(self._read(4, due), "big", signed=True)
        if not 0 <= size <= largest:
            raise NotAFrame(f"what the broker answers is no response of Kafka's protocol: it would have {size} bytes")
        return self._read(size, due + size * seconds_per_byte)

    def _read(self, size: int, due: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._socket.settimeout(_left(due))
            piece = self._socket.recv(min(size - len(data), _PIECE))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)


def now() -> float:
    """The monotonic clock's seconds."""
    return SystemClock().monotonic()


def _left(due: float) -> float:
    """The seconds until then, for a socket. Raises TimeoutError if there are none."""
    left = due - now()
    if left <= 0:
        raise TimeoutError
    return left


def connect(host: str, port: int, due: float) -> socket.socket:
    """A connection to the first address of the host that accepts one; each has an equal part of the time. Raises OSError, and
    ValueError or OverflowError for what is no host name, or no port.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure: OSError = TimeoutError()
    for number, (family, kind, protocol, _, address) in enumerate(found):
        plain = socket.socket(family, kind, protocol)
        try:
            plain.settimeout(_left(due) / (len(found) - number))
            plain.connect(address)
            plain.settimeout(_left(due))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException as error:
            plain.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return plain
    raise failure
