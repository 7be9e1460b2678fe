"""Frames that are no requests. Whatever Apache Kafka does with them (an answer, or the end of the connection), so do we."""

from __future__ import annotations

import struct

from compat_tests.oracle.cases import case
from compat_tests.oracle.connection import Closed
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import APIS, ApiKey, request_class

_OF_CONTROLLERS = (
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.ALTER_PARTITION,
    ApiKey.ENVELOPE,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONTROLLER_REGISTRATION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.UPDATE_RAFT_VOTER,
)


def outcome(ask: Ask, frame: bytes, *, size: int | None = None) -> None:
    """Sends a frame; keeps the answer's bytes (but for the versions ApiVersions lists), or that the connection ended."""
    connection = ask.connect()
    connection.send_raw(frame, size=size)
    try:
        ask.keep(["answer", connection.receive_raw()[:6]])
    except Closed:
        ask.keep("<connection closed>")


def header(api_key: int, version: int, client_id: bytes | None = b"x") -> bytes:
    client = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return struct.pack(">hhi", api_key, version, 7) + client


@case(ApiKey.API_VERSIONS, until=0)
def unknown_apis_and_versions(ask: Ask) -> None:
    outcome(ask, header(18, 99))
    outcome(ask, header(18, -1))
    outcome(ask, header(18, 0, None))
    outcome(ask, header(3, 99))
    outcome(ask, header(3, -1))
    outcome(ask, header(0, 2))
    outcome(ask, header(999, 0))
    outcome(ask, header(-1, 0))
    outcome(ask, header(4, 0))
    outcome(ask, header(7, 0))


@case(ApiKey.API_VERSIONS, until=0)
def apis_that_no_broker_lists(ask: Ask) -> None:
    """Those of controllers and between brokers, in every version, and versions that are not stable yet."""
    for key in _OF_CONTROLLERS:
        for version in range(APIS[key].min_version, APIS[key].max_version + 1):
            ask(request_class(key)(), version)
    ask(request_class(ApiKey.INIT_PRODUCER_ID)(), APIS[ApiKey.INIT_PRODUCER_ID].max_version)


@case(ApiKey.API_VERSIONS, until=0)
def frames_cut_short(ask: Ask) -> None:
    outcome(ask, b"")
    outcome(ask, b"\0")
    outcome(ask, header(18, 0)[:5])
    outcome(ask, struct.pack(">hhih", 18, 0, 7, 500) + b"x")
    outcome(ask, struct.pack(">hhih", 18, 0, 7, -5))
    outcome(ask, header(3, 1))
    outcome(ask, header(3, 1) + struct.pack(">i", 2_000_000_000))
    outcome(ask, header(3, 1) + struct.pack(">ih", 1, 5) + b"ab")
    outcome(ask, header(3, 9) + b"\0\xff\xff\xff\xff\x7f")


@case(ApiKey.API_VERSIONS, until=0)
def sizes_that_lie(ask: Ask) -> None:
    outcome(ask, b"", size=-1)
    outcome(ask, b"", size=2_000_000_000)


@case(ApiKey.METADATA, since=1, until=1)
def bytes_after_the_request(ask: Ask) -> None:
    outcome(ask, header(3, 1) + struct.pack(">i", 0) + b"more")
