"""Starts and stops the watchers of a broker: ``watching.py`` as a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from scripts.bench_http_job.watching import LEFT, WATCHING


class Watcher:
    """Within ``watching``, Prometheus scrapes the broker and a console page follows the topic."""

    def __init__(self, address: str, topic: str) -> None:
        command = [sys.executable, "-m", "scripts.bench_http_job.watching", address, topic]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    @contextmanager
    def watching(self) -> Iterator[None]:
        self._tell(WATCHING)
        try:
            yield
        finally:
            self._tell(LEFT)

    def _tell(self, wanted: str) -> None:
        """Send the command and wait until it is done. Raises RuntimeError if the watcher has exited."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        told = self._process.stdout.readline().decode().strip()
        if told != wanted:
            raise RuntimeError(f"the watcher said {told!r} in place of {wanted!r}")
