"""Who watches a broker, as a process of its own: Prometheus, which asks every second, and a page that follows a topic.

``python -m scripts.bench_http_job.watching HOST:PORT TOPIC``: says ``watching`` when both are at it, and ends with its input.
"""

from __future__ import annotations

import http.client
import sys
import threading

_EVERY_S = 1.0


def scrape(address: str, over: threading.Event) -> None:
    connection = http.client.HTTPConnection(address, timeout=60)
    while not over.wait(_EVERY_S):
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status


def follow(address: str, topic: str, at_it: threading.Event) -> None:
    connection = http.client.HTTPConnection(address, timeout=600)
    connection.request("GET", f"/console/api/tail?topic={topic}")
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    at_it.set()
    while answer.readline():
        pass


def main(address: str, topic: str) -> None:
    over, at_it = threading.Event(), threading.Event()
    scraping = threading.Thread(target=scrape, args=(address, over))
    scraping.start()
    threading.Thread(target=follow, args=(address, topic, at_it), daemon=True).start()
    at_it.wait()
    print("watching", flush=True)
    sys.stdin.read()
    over.set()
    scraping.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
