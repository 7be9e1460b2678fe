"""The watchers of a broker, as a process: Prometheus, which scrapes every second, and a page that follows a topic.

``python -m scripts.bench_http_job.watching HOST:PORT TOPIC``: each line of input starts or stops both, in turn; it
prints ``watching`` or ``left`` when that is done.
"""

from __future__ import annotations

import http.client
import socket
import sys
import threading

WATCHING, LEFT = "watching", "left"
_EVERY_S = 1.0


def scrape(address: str, over: threading.Event) -> None:
    """Scrape every second, first after half a second, so that periods of whole seconds have equally many scrapes."""
    connection = http.client.HTTPConnection(address, timeout=60)
    wait_s = _EVERY_S / 2
    while not over.wait(wait_s):
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        wait_s = _EVERY_S
    connection.close()


class Page:
    """A console page that follows a topic, until it is closed."""

    def __init__(self, address: str, topic: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=600)
        self._connection.connect()
        self._socket: socket.socket = self._connection.sock  # the response takes it over from the connection
        self._connection.request("GET", f"/console/api/tail?topic={topic}")
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        try:
            while self._answer.readline():
                pass
        except (OSError, http.client.HTTPException):
            pass  # closed

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._reading.join()
        self._answer.close()
        self._connection.close()


def main(address: str, topic: str) -> None:
    for _ in sys.stdin:
        over = threading.Event()
        scraping = threading.Thread(target=scrape, args=(address, over))
        scraping.start()
        page = Page(address, topic)
        print(WATCHING, flush=True)
        sys.stdin.readline()
        over.set()
        scraping.join()
        page.close()
        print(LEFT, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
