"""Delegation tokens from request to answer: made, renewed, ended, described, removed when they are over, there after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.access.step import authorise
from pykbroker.process.housekeeping import Housekeeping
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.delegation_tokens import hmac_of
from pykbroker.security.operations import CREATE_TOKENS, DESCRIBE, DESCRIBE_TOKENS
from pykbroker.security.resources import DELEGATION_TOKEN, LITERAL, USER
from pykbroker.tests.kit.cluster import START_MS, MemoryCluster, Peer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from pykbroker.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
BOB = [CreatableRenewers("User", "bob")]


class World(MemoryCluster):
    """A broker with a listener on which somebody is known by name, asked by alice where nobody else is named."""

    def __init__(self, dispatcher: Dispatcher | None = None, **settings: str) -> None:
        super().__init__(
            dispatcher=dispatcher,
            listeners="PLAINTEXT://127.0.0.1:0,USERS://127.0.0.1:0",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT",
            **{"delegation_token_secret_key": "key"} | settings,
        )

    def ask_as(self, request: Any, version: int = 2, who: str = "alice", *, by_token: bool = False) -> Any:
        return self.ask(request, version, peer=Peer(listener="USERS", principal=f"User:{who}", by_token=by_token))

    def create(self, version: int = 3, who: str = "alice", **fields: Any) -> Any:
        return self.ask_as(CreateDelegationTokenRequest(**{"max_lifetime_ms": -1} | fields), version, who)

    def described(self, who: str = "alice", *owners: str, version: int = 3) -> list[Any]:
        named = [DescribeDelegationTokenOwner("User", owner) for owner in owners] or None
        answer = self.ask_as(DescribeDelegationTokenRequest(named), version, who)
        assert answer.error_code == ErrorCode.NONE
        return list(answer.tokens)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_token_is_made_and_described(version: int) -> None:
    world = World()
    made = world.create(version, renewers=BOB)
    assert (made.error_code, made.principal_type, made.principal_name) == (ErrorCode.NONE, "User", "alice")
    times = (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms)
    assert [time - START_MS for time in times] == [0, DAY_MS, 7 * DAY_MS]
    assert made.hmac == hmac_of(b"key", made.token_id)
    (shown,) = world.described(version=version)
    assert (shown.principal_type, shown.principal_name) == ("User", "alice")
    assert (shown.token_id, shown.hmac) == (made.token_id, made.hmac)
    assert (shown.issue_timestamp, shown.expiry_timestamp, shown.max_timestamp) == times
    assert [(each.principal_type, each.principal_name) for each in shown.renewers] == [("User", "bob")]
    requester = ("User", "alice") if version >= 3 else ("", "")
    assert (shown.token_requester_principal_type, shown.token_requester_principal_name) == requester
    assert (made.token_requester_principal_type, made.token_requester_principal_name) == requester


def test_a_token_is_renewed_and_ended() -> None:
    world = World()
    made = world.create(renewers=BOB)
    world.advance(HOUR_MS)
    for who in ("alice", "bob"):
        renewed = world.ask_as(RenewDelegationTokenRequest(made.hmac, -1), who=who)
        assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, START_MS + HOUR_MS + DAY_MS)
    refused = world.ask_as(RenewDelegationTokenRequest(made.hmac, -1), who="eve")
    assert (refused.error_code, refused.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    sooner = world.ask_as(ExpireDelegationTokenRequest(made.hmac, 1000), 1)
    assert (sooner.error_code, sooner.expiry_timestamp_ms) == (0, START_MS + HOUR_MS + 1000)
    ended = world.ask_as(ExpireDelegationTokenRequest(made.hmac, -1), 1)
    assert (ended.error_code, ended.expiry_timestamp_ms) == (0, START_MS + HOUR_MS)
    assert world.described() == []
    assert world.ask_as(ExpireDelegationTokenRequest(made.hmac, -1)).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


@pytest.mark.parametrize("kill", [False, True])
def test_tokens_are_there_after_a_restart(kill: bool) -> None:
    world = World()
    first, second, gone = (world.create(renewers=BOB) for _ in range(3))
    world.ask_as(RenewDelegationTokenRequest(second.hmac, HOUR_MS))
    world.ask_as(ExpireDelegationTokenRequest(gone.hmac, -1))
    before = [(token.token_id, token.hmac, token.expiry_timestamp) for token in world.described()]
    world.restart(kill=kill)
    assert [(token.token_id, token.hmac, token.expiry_timestamp) for token in world.described()] == before
    assert [expiry for *_, expiry in before] == [START_MS + DAY_MS, START_MS + HOUR_MS]
    assert world.ask_as(RenewDelegationTokenRequest(first.hmac, -1)).error_code == ErrorCode.NONE


def test_tokens_that_are_over_are_removed() -> None:
    world = World(delegation_token_expiry_check_interval_ms=str(HOUR_MS))
    Housekeeping(world.cluster, durable=False).start()
    short, long = world.create(max_lifetime_ms=HOUR_MS), world.create()
    world.advance(HOUR_MS)
    assert [token.token_id for token in world.described()] == [short.token_id, long.token_id]
    world.advance(HOUR_MS)
    assert [token.token_id for token in world.described()] == [long.token_id]
    world.advance(DAY_MS)
    assert world.described() == []


def test_tokens_that_are_over_are_removed_some_at_a_time(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr("pykbroker.controller.delegation_tokens.MOST_REMOVED", 2)
    world = World(delegation_token_expiry_check_interval_ms=str(HOUR_MS))
    Housekeeping(world.cluster, durable=False).start()
    for _ in range(5):
        world.create(max_lifetime_ms=1)
    with caplog.at_level("INFO"):
        world.advance(HOUR_MS)
        world.settle()
    assert world.described() == []
    assert [message for message in caplog.messages if "expired" in message] == [
        f"Removed {count} expired delegation tokens" for count in (2, 2, 1)
    ]


def test_requests_that_are_refused_as_a_whole() -> None:
    world, without = World(), World(delegation_token_secret_key="")
    requests = (
        (CreateDelegationTokenRequest(renewers=BOB), -1, 0),
        (RenewDelegationTokenRequest(b"some", 1), -1, 0),
        (ExpireDelegationTokenRequest(b"some", 1), -1, 0),
        (DescribeDelegationTokenRequest(None), None, None),
    )
    for request, not_allowed_ms, disabled_ms in requests:
        answers = (
            (world.ask_as(request, by_token=True), ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, not_allowed_ms),
            (world.ask(request, 2), ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, not_allowed_ms),
            (without.ask_as(request), ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, disabled_ms),
        )
        for answer, code, expiry_ms in answers:
            assert answer.error_code == code
            assert getattr(answer, "expiry_timestamp_ms", None) == expiry_ms


def test_only_users_renew() -> None:
    answer = World().create(renewers=[*BOB, CreatableRenewers("Group", "all")])
    assert (answer.error_code, answer.expiry_timestamp_ms) == (ErrorCode.INVALID_PRINCIPAL_TYPE, -1)


def test_what_the_disk_refuses_is_told_and_leaves_no_token() -> None:
    world = World()
    with world.full_disk():
        answer = world.create()
    assert (answer.error_code, answer.token_id, answer.hmac) == (ErrorCode.KAFKA_STORAGE_ERROR, "", b"")
    assert world.described() == []


# ---- whose tokens


def test_who_is_told_of_a_token() -> None:
    """Without an authorizer everybody; the names that are asked for are those of owners, renewers and who asked for them."""
    world = World()
    mine = world.create(owner_principal_type="User", owner_principal_name="dave", renewers=BOB)
    other = world.create(who="carol")
    for owners, shown in (
        ((), [mine, other]),
        (("alice",), [mine]),
        (("bob",), [mine]),
        (("dave", "carol"), [mine, other]),
        (("eve",), []),
    ):
        assert [token.token_id for token in world.described("eve", *owners)] == [token.token_id for token in shown]
    assert world.ask_as(DescribeDelegationTokenRequest([])).tokens == []


def test_rights_to_tokens_of_others() -> None:
    settings = {"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:admin"}
    world = World(Dispatcher(filled={Place.AUTHORISE: authorise}), **settings)

    def allow(operation: int, kind: int, name: str) -> None:
        acl = Acl(kind, name, LITERAL, "User:alice", "*", operation, ALLOW)
        assert world.controller.create_acls([acl]).value == [None]

    def for_carol(**fields: Any) -> Any:
        return world.create(owner_principal_type="User", owner_principal_name="carol", **fields)

    wrong = [CreatableRenewers("Group", "all")]
    refused = for_carol(renewers=wrong)  # the right is looked at before
    assert (refused.error_code, refused.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED, -1)
    assert (refused.principal_name, refused.token_requester_principal_name) == ("carol", "alice")
    assert world.create().error_code == ErrorCode.NONE
    allow(CREATE_TOKENS, USER, "User:carol")
    assert for_carol(renewers=wrong).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    made = for_carol()
    assert (made.error_code, made.principal_name) == (ErrorCode.NONE, "carol")
    assert made.token_id in [token.token_id for token in world.described("carol")]

    hers, more = (world.create(who="carol") for _ in range(2))
    seen = [token.token_id for token in world.described()]
    assert hers.token_id not in seen
    assert made.token_id in seen  # she asked for it
    allow(DESCRIBE, DELEGATION_TOKEN, hers.token_id)
    assert hers.token_id in [token.token_id for token in world.described()]
    allow(DESCRIBE_TOKENS, USER, "User:carol")
    assert more.token_id in [token.token_id for token in world.described()]
    by_token = CreateDelegationTokenRequest("User", "dave")
    answer = world.ask_as(by_token, 3, by_token=True)  # and that he may have none, before the right
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
