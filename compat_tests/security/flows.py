"""Ways to sign in, good and bad, frame by frame: what is seen of each is compared between the brokers.

A flow is a function of a ``Dialogue``; its name says what is tried.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compat_tests.oracle.connection import Closed, Connection
from compat_tests.security.listeners import FAILED_DELAY_MS, SESSION_MS, USERS
from compat_tests.security.scram_client import ScramClient
from compat_tests.security.users import SCRAM_USERS
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.create_topics import CreateTopicsRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pykbroker.wire.messages.fetch import FetchRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.messages.produce import ProduceRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest
from pykbroker.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest

ASK_VERSIONS = ApiVersionsRequest("test", "1.0")
#: Of a frame that is not decoded: the correlation id, and where an answer begins with it, the error.
_RAW_COMPARED = 6
_LATE_S = 0.75 * FAILED_DELAY_MS / 1000
#: Answers of which only the error is compared: the rest is another suite's.
_BY_ERROR = ("ApiVersionsResponse", "DescribeClusterResponse", "MetadataResponse")


class Dialogue:
    """One connection, over TLS where ``authority`` is who issued the broker's certificate. What is seen stands in ``seen``:
    answers, and ``closed`` or ``closed late`` at the end.
    """

    def __init__(self, address: str, authority: Path | None = None) -> None:
        self.address = address
        self._connection = Connection(address)
        if authority is not None:
            self._connection.encrypt(ssl.create_default_context(cafile=str(authority)))
        self.seen: list[Any] = []
        #: Connections that end with this one; nothing is noted of them.
        self.others: list[Connection] = []
        self._refused = False

    def ask(self, request: Message, version: int) -> Message | None:
        """Asks, and notes the answer; None where the connection was closed."""
        with self._noting():
            answer = self._connection.ask(request, version)
            self._refused = getattr(answer, "error_code", None) != 0
            self.seen.append(_noted(answer))
            return answer
        return None

    def raw(self, token: bytes) -> bytes | None:
        """Sends bytes as a frame and notes the frame that comes."""
        with self._noting():
            self._connection.send_raw(token)
            answer = self._connection.receive_raw()
            self.seen.append(answer[:_RAW_COMPARED])
            return answer
        return None

    def handshake(self, mechanism: str, version: int = 1) -> None:
        self.ask(SaslHandshakeRequest(mechanism), version)

    def token(self, token: bytes, version: int = 2) -> bytes:
        answer = self.ask(SaslAuthenticateRequest(token), version)
        return b"" if answer is None else answer.auth_bytes

    def sign_in(self, name: str = "alice", password: str | None = None) -> None:
        """By PLAIN."""
        self.ask(ASK_VERSIONS, 3)
        self.handshake("PLAIN")
        self.token(plain(name, USERS[name] if password is None else password))

    def look(self) -> None:
        """Whether requests are served, and then whether the connection still is there."""
        self.ask(DescribeClusterRequest(), 1)

    def end(self, patience_s: float | None = None) -> None:
        """Note whether the broker closes by itself, soon, or late where it has refused something; then close. ``patience_s``
        is how long to wait for that at the most.
        """
        if not self.seen or not str(self.seen[-1]).startswith("closed"):
            self._connection._socket.settimeout(patience_s or (1.5 * FAILED_DELAY_MS / 1000 if self._refused else 0.1))
            try:
                self.raw_end()
            except TimeoutError:
                self.seen.append("open")
        for connection in (self._connection, *self.others):
            connection.close()

    def raw_end(self) -> None:
        with self._noting():
            self._connection.receive_raw()
            self.seen.append("a frame nobody asked for")

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except (Closed, BrokenPipeError):
            self.seen.append("closed late" if time.monotonic() - began > _LATE_S else "closed")
            return
        if self._refused and time.monotonic() - began > _LATE_S:
            self.seen.append("late")


def plain(name: str, password: str, authzid: str = "") -> bytes:
    return f"{authzid}\0{name}\0{password}".encode()


def _noted(answer: Message) -> Any:
    kind = type(answer).__name__
    if kind in _BY_ERROR:
        return kind, getattr(answer, "error_code", 0)
    fields = {name: getattr(answer, name) for name in answer.__slots__}
    if kind == "SaslHandshakeResponse":
        fields["mechanisms"] = sorted(fields["mechanisms"])
    if kind == "SaslAuthenticateResponse" and fields["auth_bytes"].startswith((b"r=", b"v=")):
        fields["auth_bytes"] = bytes(fields["auth_bytes"][:2])
    if kind == "SaslAuthenticateResponse" and fields["session_lifetime_ms"] % SESSION_MS:
        minutes = round(fields["session_lifetime_ms"] / 60_000, -1)  # what is left of a token, on a slow machine, too
        fields["session_lifetime_ms"] = f"{minutes:.0f} minutes"
    return kind, repr(fields)


Flow = Callable[[Dialogue], None]
FLOWS: dict[str, Flow] = {}


def flow(function: Flow) -> Flow:
    FLOWS[function.__name__] = function
    return function


def _add(name: str, function: Flow) -> None:
    FLOWS[name] = function


# ---- what comes when


@flow
def all_in_order(talk: Dialogue) -> None:
    talk.sign_in()
    talk.look()


@flow
def without_versions(talk: Dialogue) -> None:
    talk.handshake("PLAIN")
    talk.token(plain("alice", USERS["alice"]))
    talk.look()


@flow
def a_mechanism_that_is_not_there(talk: Dialogue) -> None:
    talk.handshake("GSSAPI")


@flow
def a_mechanism_that_is_not_there_v0(talk: Dialogue) -> None:
    talk.handshake("plain", 0)


@flow
def handshake_v0_and_raw_tokens(talk: Dialogue) -> None:
    talk.handshake("PLAIN", 0)
    talk.raw(plain("alice", USERS["alice"]))
    talk.look()


@flow
def handshake_v0_and_a_wrong_token(talk: Dialogue) -> None:
    talk.handshake("PLAIN", 0)
    talk.raw(plain("alice", "wrong"))


@flow
def handshake_v0_and_a_request(talk: Dialogue) -> None:
    talk.handshake("PLAIN", 0)
    talk.ask(SaslAuthenticateRequest(plain("alice", USERS["alice"])), 0)


@flow
def handshake_v1_and_a_raw_token(talk: Dialogue) -> None:
    talk.handshake("PLAIN")
    talk.raw(plain("alice", USERS["alice"]))


@flow
def versions_twice(talk: Dialogue) -> None:
    talk.ask(ASK_VERSIONS, 3)
    talk.ask(ASK_VERSIONS, 3)


@flow
def versions_unsupported_then_supported(talk: Dialogue) -> None:
    talk.raw(b"\0\x12\0\x63\0\0\0\x07\xff\xff\0")
    talk.ask(ASK_VERSIONS, 3)
    talk.handshake("PLAIN")


@flow
def versions_of_a_nameless_client(talk: Dialogue) -> None:
    talk.ask(ApiVersionsRequest("", ""), 3)
    talk.ask(ASK_VERSIONS, 3)
    talk.sign_in()


@flow
def versions_of_another_cluster(talk: Dialogue) -> None:
    talk.ask(ApiVersionsRequest("test", "1.0", "another", 1), 5)
    talk.ask(ASK_VERSIONS, 3)
    talk.sign_in()


@flow
def versions_of_another_cluster_and_a_handshake(talk: Dialogue) -> None:
    talk.ask(ApiVersionsRequest("test", "1.0", "another", 1), 5)
    talk.handshake("PLAIN")
    talk.token(plain("alice", USERS["alice"]))


@flow
def versions_of_half_an_expectation(talk: Dialogue) -> None:
    talk.ask(ApiVersionsRequest("test", "1.0", "another", -1), 5)
    talk.ask(ASK_VERSIONS, 3)
    talk.handshake("PLAIN")


@flow
def versions_after_the_handshake(talk: Dialogue) -> None:
    talk.handshake("PLAIN")
    talk.ask(ASK_VERSIONS, 3)


@flow
def handshake_twice(talk: Dialogue) -> None:
    talk.handshake("PLAIN")
    talk.handshake("PLAIN")


@flow
def token_without_handshake(talk: Dialogue) -> None:
    talk.token(plain("alice", USERS["alice"]))


@flow
def a_request_between_versions_and_handshake(talk: Dialogue) -> None:
    talk.ask(ASK_VERSIONS, 3)
    talk.ask(MetadataRequest(None), 9)


@flow
def signed_in_twice(talk: Dialogue) -> None:
    talk.sign_in()
    talk.handshake("PLAIN")
    talk.token(plain("alice", USERS["alice"]))
    talk.look()


@flow
def versions_when_signed_in(talk: Dialogue) -> None:
    talk.sign_in()
    talk.ask(ASK_VERSIONS, 3)
    talk.ask(ASK_VERSIONS, 3)


@flow
def handshake_v2(talk: Dialogue) -> None:
    talk.raw(b"\0\x11\0\x02\0\0\0\x07\xff\xff\0\x05PLAIN")


@flow
def authenticate_v3(talk: Dialogue) -> None:
    talk.handshake("PLAIN")
    talk.raw(b"\0\x24\0\x03\0\0\0\x07\xff\xff\0\x05abcd\0")


@flow
def no_request_at_all(talk: Dialogue) -> None:
    talk.raw(b"\x60\x82\x01\x02 a ticket")


@flow
def an_unknown_key(talk: Dialogue) -> None:
    talk.raw(b"\x03\xe7\0\0\0\0\0\x07\xff\xff")


@flow
def an_unknown_key_after_versions(talk: Dialogue) -> None:
    talk.ask(ASK_VERSIONS, 3)
    talk.raw(b"\x03\xe7\0\0\0\0\0\x07\xff\xff")


@flow
def a_frame_that_is_too_large(talk: Dialogue) -> None:
    talk.handshake("PLAIN")
    talk.token(plain("alice", "x" * 10_001))


@flow
def an_empty_frame(talk: Dialogue) -> None:
    talk.raw(b"")


@flow
def a_cut_handshake(talk: Dialogue) -> None:
    talk.raw(b"\0\x11\0\x01\0\0\0\x07\xff\xff\0\x50PLAIN")


#: APIs that are also asked for before the handshake, which none of them survives.
_ASKED_BEFORE = {each.API_KEY for each in (MetadataRequest, ProduceRequest, CreateTopicsRequest, DescribeGroupsRequest)}
for _request, _version in (
    (MetadataRequest(None), 9),
    (ProduceRequest(acks=1, timeout_ms=1000), 9),
    (ProduceRequest(acks=0, timeout_ms=1000), 9),
    (FetchRequest(), 12),
    (HeartbeatRequest("g", 1, "m"), 4),
    (ListGroupsRequest(), 4),
    (CreateTopicsRequest(), 6),
    (DescribeClusterRequest(), 1),
    (DescribeGroupsRequest(["g", "h"]), 5),
    (ConsumerGroupDescribeRequest(["g"]), 0),
    (DeleteGroupsRequest(["g"]), 2),
    (OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1])]), 7),
    (
        OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("t", bytes(16), [0])])]
        ),
        8,
    ),
    (DeleteRecordsRequest([DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 1)])], 1), 2),
    (DescribeProducersRequest([TopicRequest("t", [0, 1])]), 0),
    (OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("t", [OffsetForLeaderPartition(0, 1, 1)])]), 4),
    (AlterReplicaLogDirsRequest([AlterReplicaLogDir("/x", [AlterReplicaLogDirTopic("t", [0])])]), 2),
    (WriteTxnMarkersRequest([WritableTxnMarker(1, 1, True, [WritableTxnMarkerTopic("t", [0])], 1)]), 1),
    (DescribeDelegationTokenRequest(None), 3),
    (ExpireDelegationTokenRequest(b"x", 1), 2),
):
    _name = f"{type(_request).__name__}_{getattr(_request, 'acks', _version)}"
    if _request.API_KEY in _ASKED_BEFORE:
        _add(f"{_name}_before_the_handshake", lambda talk, r=_request, v=_version: (talk.ask(r, v), None)[1])
    _add(
        f"{_name}_after_the_handshake",
        lambda talk, r=_request, v=_version: (talk.handshake("PLAIN"), talk.ask(r, v), None)[2],
    )


# ---- PLAIN

_PLAIN = {
    "wrong": plain("alice", "wrong"),
    "unknown": plain("nobody", "wrong"),
    "no_name": plain("", "x"),
    "no_password": plain("alice", ""),
    "no_name_nor_password": plain("", ""),
    "two_parts": b"alice\0secret",
    "one_part": b"alice",
    "nothing": b"",
    "four_parts": b"\0alice\0secret\0more",
    "five_parts": b"\0alice\0secret\0more\0again",
    "for_himself": plain("alice", USERS["alice"], "alice"),
    "for_another": plain("alice", USERS["alice"], "bob"),
    "for_another_and_wrong": plain("alice", "wrong", "bob"),
    "odd_password": plain("mallory", USERS["mallory"]),
    "not_ascii": plain("br\N{LATIN SMALL LETTER O WITH DIAERESIS}t", "brot"),
    "not_utf_8": b"\0\xff\xfe\0x",
}
for _name, _token in _PLAIN.items():
    for _version in (0, 2):
        _add(
            f"plain_{_name}_v{_version}",
            lambda talk, token=_token, v=_version: (talk.handshake("PLAIN"), talk.token(token, v), talk.look(), None)[
                3
            ],
        )


# ---- SCRAM


def _scram(
    name: str = "bob",
    password: str = "bob-secret",
    mechanism: str = "SCRAM-SHA-256",
    *,
    final: dict[str, Any] | None = None,
    **client: Any,
) -> Flow:
    def run(talk: Dialogue) -> None:
        own = ScramClient(mechanism, name, password, **client)
        talk.handshake(mechanism)
        challenge = talk.token(own.first())
        if not challenge:
            return
        last = talk.token(own.final(bytes(challenge), **(final or {})))
        if last:
            talk.seen.append(("the broker knows the credential", own.trusts(bytes(last))))
            talk.look()

    return run


for _name, _flow in {
    "good": _scram(),
    "good_512": _scram(mechanism="SCRAM-SHA-512"),
    "wrong": _scram(password="wrong"),
    "unknown": _scram(name="nobody"),
    "odd_name": _scram(name="a=3Db=2Cc", password="odd"),
    "odd_name_unescaped": _scram(name="a=b", password="odd"),
    "wrong_escape": _scram(name="a=3db", password="odd"),
    "not_ascii": _scram(name="sm\N{LATIN SMALL LETTER O WITH DIAERESIS}r", password="x"),
    "password_not_ascii": _scram(name="pw", password=SCRAM_USERS["pw"]),
    "binding_y": _scram(header="y,,"),
    "binding_p": _scram(header="p=tls-unique,,"),
    "for_himself": _scram(header="n,a=bob,"),
    "for_another": _scram(header="n,a=alice,"),
    "an_extension": _scram(extensions=",x=y"),
    "no_token": _scram(extensions=",tokenauth=true"),
    "not_a_token": _scram(extensions=",tokenauth=false"),
    "another_nonce": _scram(final={"nonce": "c0ffeeother"}),
    "spoilt": _scram(final={"spoil": True}),
    "a_strange_nonce": _scram(nonce="a b"),
    "no_nonce": _scram(nonce=""),
    "no_name": _scram(name=""),
}.items():
    _add(f"scram_{_name}", _flow)


@flow
def scram_nothing(talk: Dialogue) -> None:
    talk.handshake("SCRAM-SHA-256")
    talk.token(b"")


@flow
def scram_final_is_nonsense(talk: Dialogue) -> None:
    talk.handshake("SCRAM-SHA-256")
    talk.token(ScramClient("SCRAM-SHA-256", "bob", "x").first())
    talk.token(b"nonsense")


@flow
def scram_versions_between(talk: Dialogue) -> None:
    talk.handshake("SCRAM-SHA-256")
    talk.token(ScramClient("SCRAM-SHA-256", "bob", "x").first())
    talk.ask(ASK_VERSIONS, 3)


@flow
def scram_raw(talk: Dialogue) -> None:
    own = ScramClient("SCRAM-SHA-256", "bob", "bob-secret")
    talk.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 0)
    talk._connection.send_raw(own.first())
    challenge = talk._connection.receive_raw()
    talk._connection.send_raw(own.final(challenge))
    talk.seen.append(own.trusts(talk._connection.receive_raw()))
    talk.look()
