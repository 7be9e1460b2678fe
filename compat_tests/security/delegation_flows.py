"""Delegation tokens (KIP-48), as in ``flows``, with what PLAIN's alice and mallory may do with them, and SCRAM by them.

All flows share a broker without access lists, so everybody may see every token: a flow looks at those of its own owners.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any

from compat_tests.harness.awaiting import eventually
from compat_tests.oracle.connection import Connection
from compat_tests.security.flows import Dialogue, Flow, plain
from compat_tests.security.listeners import TOKEN_KEY, USERS
from compat_tests.security.scram_client import HASHES, ScramClient
from compat_tests.security.users import SCRAM_USERS
from pykbroker.security.delegation_tokens import hmac_of
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from pykbroker.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

DELEGATION_FLOWS: dict[str, tuple[str, Flow]] = {}

_MINUTE_MS = 60_000
_DAY_MS = 86_400_000
_NOT_FOUND, _EXPIRED = 62, 66
#: More than a second, which has to be between two authentications.
_WITHIN_S = 1.2
MALLORY = [CreatableRenewers("User", "mallory")]


class TokenClient:
    """Somebody who has signed in by PLAIN, on a connection of his own. What is compared of an answer stands in ``seen``."""

    def __init__(self, talk: Dialogue, name: str = "alice") -> None:
        self.seen = talk.seen
        self._connection = Connection(talk.address)
        talk.others.append(self._connection)
        self._connection.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = self._connection.ask(SaslAuthenticateRequest(plain(name, USERS[name])), 2)
        assert answer.error_code == 0, answer

    def ask(self, request: Message, version: int = 2) -> Any:
        """Notes the answer."""
        answer = self._connection.ask(request, version)
        self.seen.append(noted(answer))
        return answer

    def until(self, done: Callable[[Any], bool], request: Message, version: int = 2) -> Any:
        """Asks until the answer is as wanted, and notes the last one: Apache Kafka answers a change before it is known."""
        answer = eventually(lambda: self._connection.ask(request, version), done, pause_s=0.01)
        self.seen.append(noted(answer))
        return answer

    def create(self, me: str, owner: str | None = None, *renewers: str, lifetime_ms: int = -1) -> Any:
        """A token of ``owner``, else of ``me``, who may renew it and is the flow's alone; comes back when the broker knows it."""
        named = [CreatableRenewers("User", name) for name in (me, *renewers)]
        made = self.ask(CreateDelegationTokenRequest("User", owner or me, named, lifetime_ms), 3)
        self.until(lambda answer: answer.tokens, described(me), 3)
        return made

    def quietly(self, request: Message, version: int) -> Any:
        """Notes nothing."""
        return self._connection.ask(request, version)

    def change(self, request: Message, version: int = 2) -> Any:
        """Of a token that there is: the controller may hear of it later than the broker."""
        return self.until(lambda answer: answer.error_code != _NOT_FOUND, request, version)


def described(*owners: str) -> DescribeDelegationTokenRequest:
    return DescribeDelegationTokenRequest([DescribeDelegationTokenOwner("User", owner) for owner in owners])


def noted(answer: Any) -> Any:
    """Ids are random, secrets follow from them, and of times it is the distance that counts."""
    if isinstance(answer, list):
        return sorted((noted(each) for each in answer), key=repr)
    if not hasattr(answer, "__slots__"):
        return answer
    fields = {name: noted(getattr(answer, name)) for name in answer.__slots__ if name != "unknown_tagged_fields"}
    fields |= {name: _distance(value) for name, value in fields.items() if "timestamp" in name}
    if fields.get("token_id"):
        fields["hmac"] = bytes(fields["hmac"]) == hmac_of(TOKEN_KEY.encode(), fields["token_id"])
        fields["token_id"] = len(fields["token_id"])
    return {"kind": type(answer).__name__, **fields}


def _distance(when_ms: int) -> str:
    if abs(when_ms) < 2:
        return str(when_ms)
    minutes = round((when_ms - time.time() * 1000) / _MINUTE_MS, -1)
    return "the end of time" if when_ms > 2**62 else f"{minutes} minutes from now"


def by_token(talk: Dialogue, made: Any, mechanism: str = "SCRAM-SHA-256", **wrong: str) -> None:
    """Signs in by a token."""
    password = wrong.get("password", base64.b64encode(made.hmac).decode())
    sign_in(talk, mechanism, wrong.get("token_id", made.token_id), password, ",tokenauth=true")


def sign_in(talk: Dialogue, mechanism: str, name: str, password: str, extensions: str = "") -> None:
    client = ScramClient(mechanism, name, password, extensions=extensions)
    talk.handshake(mechanism)
    challenge = talk.token(client.first())
    if challenge:
        talk.seen.append(client.trusts(bytes(talk.token(client.final(bytes(challenge))))))


def tokens(function: Flow) -> Flow:
    _add(function.__name__, function)
    return function


def _add(name: str, function: Flow) -> None:
    DELEGATION_FLOWS[name] = ("SASL_PLAINTEXT", function)


# ---- made and described


def _made(version: int) -> Flow:
    def flow(talk: Dialogue) -> None:
        alice = TokenClient(talk)
        for renewers in ([], MALLORY, MALLORY * 2, [CreatableRenewers("Group", "all")], [CreatableRenewers("", "x")]):
            alice.ask(CreateDelegationTokenRequest("", "", renewers, 50 * _MINUTE_MS), version)
        for lifetime_ms in (-1, 0, 50 * _MINUTE_MS, 3 * _DAY_MS, 30 * _DAY_MS, 2**63 - 1):
            alice.ask(CreateDelegationTokenRequest("", "", [], lifetime_ms), version)

    return flow


def _described(version: int) -> Flow:
    def flow(talk: Dialogue) -> None:
        alice, me = TokenClient(talk), f"described-{version}"
        alice.create(f"{me}-a", None, f"{me}-r")
        alice.create(f"{me}-b")
        for owners in ((f"{me}-a",), (f"{me}-r",), (f"{me}-a", f"{me}-b", f"{me}-a"), (f"{me}-c",), ()):
            for who in (alice, TokenClient(talk, "mallory")):
                who.ask(described(*owners), version)
        alice.ask(DescribeDelegationTokenRequest([DescribeDelegationTokenOwner("Group", f"{me}-a")]), version)
        everybodys = alice.quietly(DescribeDelegationTokenRequest(None), version)
        talk.seen += noted([token for token in everybodys.tokens if token.principal_name.startswith(me)])

    return flow


for _version in (1, 2, 3):
    _add(f"tokens_are_made_v{_version}", _made(_version))
    _add(f"tokens_are_described_v{_version}", _described(_version))


@tokens
def tokens_are_made_for_others(talk: Dialogue) -> None:
    alice = TokenClient(talk)
    for kind, name in (
        ("Group", "all"),
        ("User", ""),
        ("", "x"),
        (None, None),
        ("User", None),
        (None, "x"),
        ("A:B", "c:d"),
    ):
        alice.ask(CreateDelegationTokenRequest(kind, name, [], -1), 3)


# ---- renewed and ended


def _renewed(version: int) -> Flow:
    def flow(talk: Dialogue) -> None:
        alice, mallory = TokenClient(talk), TokenClient(talk, "mallory")
        mine = alice.ask(CreateDelegationTokenRequest("", "", MALLORY, 2 * _DAY_MS))
        for period_ms in (-1, 0, 90 * _MINUTE_MS, 9 * _DAY_MS, 2**62):
            for who in (alice, mallory):
                who.change(RenewDelegationTokenRequest(mine.hmac, period_ms), version)
        hers = mallory.ask(CreateDelegationTokenRequest("User", "renewed", [], -1), 3)
        mallory.change(RenewDelegationTokenRequest(hers.hmac, -1), version)  # she asked for it, and does not own it
        for hmac in (b"", b"nobody's", mine.hmac[:-1]):
            alice.ask(RenewDelegationTokenRequest(hmac, -1), version)

    return flow


def _ended(version: int) -> Flow:
    def flow(talk: Dialogue) -> None:
        alice, mallory = TokenClient(talk), TokenClient(talk, "mallory")
        mine = alice.ask(CreateDelegationTokenRequest("", "", MALLORY, 2 * _DAY_MS))
        for period_ms in (90 * _MINUTE_MS, 9 * _DAY_MS, 2**63 - 1):
            for who in (alice, mallory):
                who.change(ExpireDelegationTokenRequest(mine.hmac, period_ms), version)
        hers = mallory.ask(CreateDelegationTokenRequest("User", "ended", [], -1), 3)
        mallory.change(ExpireDelegationTokenRequest(hers.hmac, -1), version)
        for hmac in (b"", b"nobody's"):
            alice.ask(ExpireDelegationTokenRequest(hmac, -1), version)
        mallory.change(ExpireDelegationTokenRequest(mine.hmac, -1), version)
        gone = ExpireDelegationTokenRequest(mine.hmac, -1)
        alice.until(lambda answer: answer.error_code == _NOT_FOUND, gone, version)

    return flow


for _version in (1, 2):
    _add(f"tokens_are_renewed_v{_version}", _renewed(_version))
    _add(f"tokens_are_ended_v{_version}", _ended(_version))


@tokens
def a_token_that_is_over(talk: Dialogue) -> None:
    alice, mallory = TokenClient(talk), TokenClient(talk, "mallory")
    made = alice.create("over", "alice")
    alice.change(ExpireDelegationTokenRequest(made.hmac, 0))
    alice.until(_is_over, described("over"), 3)
    for who in (alice, mallory):  # whether it is over is looked at first to renew it, and last to end it
        who.until(lambda answer: answer.error_code == _EXPIRED, RenewDelegationTokenRequest(made.hmac, -1))
        who.ask(ExpireDelegationTokenRequest(made.hmac, 1000))
    by_token(talk, made)
    talk.look()
    alice.ask(ExpireDelegationTokenRequest(made.hmac, -1))


def _is_over(answer: Any) -> bool:
    return bool(answer.tokens[0].expiry_timestamp < time.time() * 1000)


# ---- signing in


def _signs_in(mechanism: str) -> Flow:
    def flow(talk: Dialogue) -> None:
        made = TokenClient(talk).create(f"signs-in-{mechanism}")
        by_token(talk, made, mechanism)
        talk.look()
        talk.ask(CreateDelegationTokenRequest("User", "x", MALLORY), 3)
        talk.ask(CreateDelegationTokenRequest(renewers=[CreatableRenewers("Group", "x")]), 1)
        talk.ask(RenewDelegationTokenRequest(made.hmac, -1), 2)
        talk.ask(ExpireDelegationTokenRequest(made.hmac, -1), 2)
        talk.ask(DescribeDelegationTokenRequest(None), 3)

    return flow


for _mechanism in HASHES:
    _add(f"signs_in_by_a_token_{_mechanism}", _signs_in(_mechanism))


@tokens
def signs_in_by_a_token_with_another_secret(talk: Dialogue) -> None:
    by_token(talk, TokenClient(talk).create("another-secret"), password="x" * 88)


@tokens
def signs_in_by_a_token_that_is_not_there(talk: Dialogue) -> None:
    by_token(talk, TokenClient(talk).create("not-there"), token_id="A" * 22)


@tokens
def signs_in_by_a_token_and_does_not_say_so(talk: Dialogue) -> None:
    made = TokenClient(talk).create("does-not-say-so")
    sign_in(talk, "SCRAM-SHA-256", made.token_id, base64.b64encode(made.hmac).decode())


@tokens
def signs_in_as_a_user_and_says_it_is_a_token(talk: Dialogue) -> None:
    sign_in(talk, "SCRAM-SHA-256", "bob", SCRAM_USERS["bob"], ",tokenauth=true")


@tokens
def signs_in_by_a_token_in_capitals(talk: Dialogue) -> None:
    made = TokenClient(talk).create("capitals")
    sign_in(talk, "SCRAM-SHA-256", made.token_id, base64.b64encode(made.hmac).decode(), ",tokenauth=TRUE")
    talk.look()


@tokens
def goes_on_when_its_token_is_gone(talk: Dialogue) -> None:
    alice = TokenClient(talk)
    made = alice.create("goes-on", "alice")
    by_token(talk, made)
    alice.change(ExpireDelegationTokenRequest(made.hmac, -1))
    alice.until(lambda answer: not answer.tokens, described("goes-on"), 3)
    talk.look()
    other = Dialogue(talk.address)
    by_token(other, made)
    other.end()
    talk.seen += other.seen


# ---- sessions


@tokens
def session_ends_with_its_token(talk: Dialogue) -> None:
    """Where signing in took longer than the token lived, another one lives longer."""
    for lifetime_ms in (2000, 4000, 8000, 16_000, 32_000):
        attempt = Dialogue(talk.address)
        made = TokenClient(attempt).create(f"ends-{lifetime_ms}", lifetime_ms=lifetime_ms)
        by_token(attempt, made)
        attempt.look()
        over = attempt.seen[-1] == "closed"
        if not over:
            time.sleep(max(0, made.expiry_timestamp_ms / 1000 - time.time()) + 0.1)
            attempt.look()
        attempt.end()
        if not over:
            break
    talk.seen += attempt.seen[2:]  # which lifetime it had does not matter


@tokens
def session_goes_on_with_a_token_that_was_renewed(talk: Dialogue) -> None:
    alice = TokenClient(talk)
    made = alice.create("goes-on-renewed", "alice", lifetime_ms=3 * _DAY_MS)
    by_token(talk, made)
    time.sleep(_WITHIN_S)
    alice.change(ExpireDelegationTokenRequest(made.hmac, 2 * _DAY_MS))
    alice.until(lambda answer: _days(answer) == 2, described("goes-on-renewed"), 3)
    by_token(talk, made)
    talk.look()


def _days(answer: Any) -> int:
    return round((answer.tokens[0].expiry_timestamp - time.time() * 1000) / _DAY_MS)


@tokens
def session_of_a_token_goes_on_with_a_password(talk: Dialogue) -> None:
    """The same user, and by the same mechanism: then he may have tokens, and needs not sign in again."""
    by_token(talk, TokenClient(talk).create("bob"))
    time.sleep(_WITHIN_S)
    sign_in(talk, "SCRAM-SHA-256", "bob", SCRAM_USERS["bob"])
    talk.seen.append(talk.ask(DescribeDelegationTokenRequest([]), 3).error_code)  # type: ignore[union-attr]
    time.sleep(_WITHIN_S)
    talk.handshake("SCRAM-SHA-256")


@tokens
def session_of_a_token_does_not_go_on_as_another(talk: Dialogue) -> None:
    by_token(talk, TokenClient(talk).create("one-more"))
    time.sleep(_WITHIN_S)
    sign_in(talk, "SCRAM-SHA-256", "bob", SCRAM_USERS["bob"])
