"""HTTP servers that never finish: each sends a piece well within every timeout of a socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_HEAD: Final = b"HTTP/1.1 200 OK\r\nX: "
#: Beginnings of answers, and the pieces that follow for ever.
ENDLESS: Final = [
    (_HEAD, b"x"),
    (_HEAD, b"x\r\nX: "),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" "),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
]


@contextmanager
def dripping(beginning: bytes, piece: bytes) -> Iterator[str]:
    """The URL of a server that sends ``beginning`` to each client that asks, one after the other, and then pieces until it hangs up."""
    ended = threading.Event()

    def serve(listening: socket.socket) -> None:
        while not ended.is_set():
            with suppress(OSError), listening.accept()[0] as client:
                client.recv(65536)
                client.sendall(beginning)
                while not ended.wait(0.02):
                    client.sendall(piece)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            ended.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join()
