"""A network between a client and a broker that holds or loses an answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class CutOff:
    """Listens on a port of its own, and forwards connections to an address. The first answer to a Produce on it waits for ``holds_s``
    seconds; with None it is lost, and its connection ends.
    """

    def __init__(self, address: str, holds_s: float | None) -> None:
        host, port = address.rsplit(":", 1)
        self._target = host, int(port)
        self._holds_s = holds_s
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._sockets: list[socket.socket] = [self._listening]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """End all connections."""
        _end(self._listening)
        self._threads[0].join()  # there are no more
        for each in self._sockets[1:]:
            _end(each)
        for thread in self._threads[1:]:
            thread.join()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            self._sockets += [near, far]
            struck = threading.Event()
            for one, other, is_answer in ((near, far, False), (far, near, True)):
                thread = threading.Thread(target=self._forward, args=(one, other, struck, is_answer))
                self._threads.append(thread)
                thread.start()

    def _forward(self, one: socket.socket, other: socket.socket, struck: threading.Event, is_answer: bool) -> None:
        with contextlib.suppress(OSError):  # the other direction has ended both
            while data := one.recv(1 << 16):
                if not is_answer and data[4:6] == b"\x00\x00":  # of Produce
                    struck.set()
                elif is_answer and struck.is_set():
                    struck.clear()
                    if self._holds_s is None:
                        break
                    time.sleep(self._holds_s)
                other.sendall(data)
        _end(one)
        _end(other)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may have ended already
        connection.shutdown(socket.SHUT_RDWR)
