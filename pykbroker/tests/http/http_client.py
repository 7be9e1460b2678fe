"""A broker of this process with its HTTP side, and somebody who asks it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from prometheus_client.parser import text_string_to_metric_families

from pykbroker.controller.client_quotas import QuotaAlteration
from pykbroker.http.side import HttpSide
from pykbroker.steered.http_options import HttpOptions
from pykbroker.testing import Kafka

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


class Asked:
    """An answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = dict(response.getheaders())
        self.body = response.read()

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WithHttp:
    """The broker, and its HTTP side on a free port of 127.0.0.1."""

    def __init__(self, kafka: Kafka, side: HttpSide) -> None:
        self.kafka = kafka
        self.side = side
        self.host, _, port = kafka.node.services["http"].rpartition(":")
        self.port = int(port)

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> Asked:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request(method, path, body, dict(headers))
            return Asked(connection.getresponse())
        finally:
            connection.close()

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Asked:
        """As a program sends JSON, below /api/v1."""
        raw = None if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask(
            f"/api/v1{path}", method=method, body=raw, headers={"Content-Type": "application/json", **named}
        )

    def look(self, path: str, **query: object) -> Any:
        """What the console is told."""
        answer = self.ask(f"/console/api{path}?{urlencode(query)}")
        assert answer.status == 200, answer.text
        return answer.json

    def refusal(self, path: str, **query: object) -> tuple[int, str]:
        """Why the console is told nothing."""
        answer = self.ask(f"/console/api{path}?{urlencode(query)}")
        return answer.status, answer.json["title"]

    def change(self, path: str, **body: object) -> Any:
        """What the console does."""
        answer = self.changed(path, **body)
        assert answer.status == 200, answer.text
        return answer.json

    def changed(self, path: str, **body: object) -> Asked:
        """The same, also where it is refused."""
        raw = json.dumps(body).encode()
        return self.ask(f"/console/api{path}", method="POST", body=raw, headers={"Content-Type": "application/json"})

    def metrics(self) -> Samples:
        """Name of a sample to its values by labels."""
        answer = self.ask("/metrics")
        assert answer.status == 200
        return parsed(answer.text)


def set_quotas(kafka: Kafka, kind: str, name: str, **quotas: float) -> None:
    """Of an entity."""
    alteration = QuotaAlteration(((kind, name),), tuple(quotas.items()))
    kafka._ask(lambda cluster: cluster.controller.alter_client_quotas([alteration], frozenset(), validate_only=False))


def parsed(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            by_labels = found.setdefault(sample.name, {})
            key = tuple(sorted(sample.labels.items()))
            assert key not in by_labels, f"{sample.name}{key} stands there twice"
            by_labels[key] = sample.value
    return found


def of(samples: dict[tuple[tuple[str, str], ...], float], **labels: str) -> float:
    """One sample by its labels; 0 where it is not there."""
    return samples.get(tuple(sorted(labels.items())), 0)


@contextmanager
def with_http(options: HttpOptions | None = None, **kafka: Any) -> Iterator[WithHttp]:
    with Kafka(**kafka) as broker:
        made = options or HttpOptions("127.0.0.1", 0)

        async def opened() -> HttpSide:
            side = HttpSide(broker.node, made, broker._embedded.steering)
            try:
                await side.open()
            except BaseException:
                await side.close()
                raise
            return side

        side = broker._embedded.begin(opened()).result()
        try:
            yield WithHttp(broker, side)
        finally:
            broker._embedded.begin(side.close()).result()
