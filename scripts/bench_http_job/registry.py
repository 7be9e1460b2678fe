"""Measures a broker without the schema registry and with it: starts, memory, and requests of one client, one after another."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from compat_tests.harness.ours import Pykbroker
from scripts.bench_http_job.starts import starts

_VERSIONS: Final = 10


class _WithRegistry(Pykbroker):
    """``pykbroker serve --schema-registry``."""

    def command(self) -> list[str]:
        return [*super().command(), "--schema-registry", "0"]

    @property
    def registry(self) -> str:
        """Its address, in the line that says that the broker is ready."""
        return self.log_file.read_text().rpartition("schema registry at ")[2].split()[0]


class _Client:
    """A client of the registry with one connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def ask(self, method: str, path: str, body: object = None) -> None:
        """Raises AssertionError if it is refused."""
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, {"Content-Type": "application/vnd.schemaregistry.v1+json"})
        answer = self._connection.getresponse()
        said = answer.read()
        assert answer.status == 200, said


def measure(folder: Path, rounds: int, requests: int) -> None:
    """Print a line for each figure: medians of ``rounds`` starts, and ``requests`` requests of each kind."""
    for name, start in starts(folder, rounds, {"without it": Pykbroker, "with it": _WithRegistry}).items():
        print(f"{start.took_s:9.2f} s   start {name} ({start.used_s:.2f} s of processor time)", flush=True)
        print(f"{start.memory_mb:9.1f} MB  memory {name}", flush=True)
    broker = _WithRegistry(folder / "registry")
    broker.start()
    try:
        client = _Client(broker.registry)
        for name, ask in _requests(client).items():
            _rate(broker, name, ask, requests)
        print(f"{broker.memory_mb():9.1f} MB  memory after that", flush=True)
    finally:
        broker.stop()


def _requests(client: _Client) -> dict[str, Callable[[int], None]]:
    """What is asked, by number. Of each subject there are some versions, each with a field more."""

    def subject(number: int) -> str:
        return f"/subjects/s{number // _VERSIONS}-value"

    def register(number: int) -> None:
        client.ask("POST", f"{subject(number)}/versions", _schema(number))

    return {
        "registrations of Avro schemas, each compared with the one before": register,
        "registrations of what is there": register,
        "look-ups by id": lambda number: client.ask("GET", f"/schemas/ids/{number + 1}"),
        "look-ups of the latest version": lambda number: client.ask("GET", f"{subject(number)}/versions/latest"),
    }


def _schema(number: int) -> dict[str, str]:
    fields = [{"name": f"f{index}", "type": "string", "default": ""} for index in range(number % _VERSIONS)]
    record = {"type": "record", "name": f"Record{number // _VERSIONS}", "fields": fields}
    return {"schema": json.dumps(record)}


def _rate(broker: Pykbroker, name: str, ask: Callable[[int], None], count: int) -> None:
    used, began = broker.cpu_seconds(), time.perf_counter()
    for number in range(count):
        ask(number)
    took, used = time.perf_counter() - began, broker.cpu_seconds() - used
    print(f"{count / took:9.0f} /s  {name} ({used / count * 1000:.2f} ms of processor time each)", flush=True)
