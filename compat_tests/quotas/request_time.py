"""What a client with a request_percentage is told, and what becomes of its connection: the same for both brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Final, NamedTuple

from compat_tests.oracle.cases.quotas import alter
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.metadata import MetadataRequest

_VERSION: Final = 9


class Answer(NamedTuple):
    """What an answer tells to wait, what the answer before it told, and the time from the request of that to this answer."""

    announced_ms: int
    before_ms: int
    since_ms: float


def allow(address: str, client_id: str, percent: float | None) -> None:
    """Set the quota of a client id, or take it away."""
    with closing(Connection(address)) as connection:
        (answer,) = connection.ask(alter(([("client-id", client_id)], [("request_percentage", percent)])), 1).entries
    assert not answer.error_code


def answers(address: str, client_id: str) -> Iterator[Answer]:
    """Ask for metadata on one connection, without a pause and without end."""
    request, before_ms = MetadataRequest(topics=[]), 0
    with closing(Connection(address, client_id, patience_s=120)) as connection:
        before = time.monotonic()
        while True:
            began = time.monotonic()
            announced_ms: int = connection.ask(request, _VERSION).throttle_time_ms
            yield Answer(announced_ms, before_ms, (time.monotonic() - before) * 1000)
            before, before_ms = began, announced_ms
