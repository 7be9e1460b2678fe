"""Sessions of SCRAM while credentials, delegation tokens and access lists change, in a seed's own order (KIP-48, KIP-84, KIP-368):
who gets in, for how long, as whom, and what he may do meanwhile.

Any seed can be run alone: ``pytest -k 'test_sessions[42]'``.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from pykbroker.access.step import authorise
from pykbroker.network.connection import Connection
from pykbroker.network.receive_block import shared_block
from pykbroker.process.life import Life
from pykbroker.process.secured import SecuredListeners
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place
from pykbroker.security.acl import ALLOW, Acl, AclFilter
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.client.scram import ScramLogin
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import LITERAL, TOPIC
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.kit.secured import SCRAM
from pykbroker.tests.network.sayings import ask
from pykbroker.tests.network.strangers import Wire
from pykbroker.tests.storage.seeds import seeds
from pykbroker.wire.apis import response_class
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.headers import decode_response_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

STEPS = 40
#: A handshake exactly one second after the one before was refused, by an error of rounding.
FOUND = (1207,)
USERS = ("alice", "bob")
#: The number of each mechanism in records, and its algorithm.
MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
REAUTH_MS, EXPIRY_MS = 20_000, 15_000
#: Another handshake within this time after a re-authentication is a request like others.
BETWEEN_MS = 1_000
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "connections.max.reauth.ms": str(REAUTH_MS),
    "connection.failed.authentication.delay.ms": "0",
    "delegation.token.secret.key": "key",
    "delegation.token.expiry.time.ms": str(EXPIRY_MS),
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
    **{f"listener.name.sasl.{name.lower()}.sasl.jaas.config": SCRAM for name in MECHANISMS},
}


@dataclass(frozen=True)
class Login:
    """What somebody signs in with."""

    name: str
    password: str
    by_token: bool = False


@dataclass
class Token:
    """A delegation token as the broker is expected to know it."""

    owner: str
    login: Login
    hmac: bytes
    expires_ms: int
    max_ms: int


class Session:
    """A connection from outside, and what the model expects of it."""

    def __init__(self, world: MemoryCluster, listeners: SecuredListeners) -> None:
        self._world = world
        block = shared_block()
        self.connection = Connection(world.cluster.brokers[1], world.dispatcher, "SASL", 1 << 20, block, lambda _: None)
        admission = listeners.admission(1, "SASL")
        assert admission is not None
        self.wire = Wire(admission.admit(self.connection, world.dispatcher, block))
        self.mechanism = ""
        self.user = ""
        self.by_token = False
        self.ends_ms = 0
        #: When it was authenticated again, for the last time.
        self.renewed_ms: int | None = None

    def ask(self, request: Message, version: int) -> Message | None:
        """The answer, or None from a broker that closed the connection without one."""
        frame = ask(request, version)
        self.wire.receive(len(frame).to_bytes(4, "big") + frame)
        self._world.settle()
        data = bytes(self.wire.sent)
        self.wire.sent.clear()
        if not data:
            assert self.wire.is_closed
            return None
        _, at = decode_response_header(data, 4, request.API_KEY, version)
        answer, end = response_class(request.API_KEY).decode(data, at, version)
        assert end == len(data) == int.from_bytes(data[:4], "big") + 4
        return answer


class World:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        settings = {name.replace(".", "_"): value for name, value in SETTINGS.items()}
        self.cluster = MemoryCluster(seed=seed, dispatcher=Dispatcher(filled={Place.AUTHORISE: authorise}), **settings)
        self.cluster.topic("t", 1)
        self.listeners = SecuredListeners(self.cluster.cluster.config, lambda: self.cluster.cluster, [1])
        self.listeners.follow(Life(self.cluster.cluster))
        #: By user and mechanism.
        self.passwords: dict[tuple[str, str], str] = {}
        self.former = ["never"]
        self.tokens: list[Token] = []
        #: Those that have been removed.
        self.lost: list[Token] = []
        self.allowed: set[str] = set()
        self.sessions: list[Session] = []
        self.seen: Counter[str] = Counter()

    @property
    def now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    def work(self) -> None:
        ways: list[Callable[[], None]] = [
            *[self.sign_in] * 5,
            *[self.sign_in_again] * 6,
            *[self.go_on] * 6,
            *[self.wait] * 5,
            *[self.alter] * 3,
            *[self.change_token] * 3,
            self.make_token,
            self.change_rights,
        ]
        for user in USERS:
            self.set_password(user, self.random.choice(list(MECHANISMS)))
        for _ in range(STEPS):
            self.random.choice(ways)()

    # ---- what is changed ------------------------------------------------------------------------------------------------

    def wait(self) -> None:
        self.cluster.advance(self.random.choice((1, 400, 1_000, 3_000, 8_000, 20_001)))

    def alter(self) -> None:
        user, mechanism = self.random.choice(USERS), self.random.choice(list(MECHANISMS))
        if (user, mechanism) in self.passwords and self.random.random() < 0.3:
            deletion = ScramCredentialDeletion(user, MECHANISMS[mechanism][0])
            assert self.altered(AlterUserScramCredentialsRequest([deletion], [])) == 0
            self.former.append(self.passwords.pop((user, mechanism)))
        else:
            self.set_password(user, mechanism)

    def set_password(self, user: str, mechanism: str) -> None:
        number, algorithm = MECHANISMS[mechanism]
        password = f"pw{self.random.randrange(4)}"
        salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), b"salt", 4096)
        upsertion = ScramCredentialUpsertion(user, number, 4096, b"salt", salted)
        assert self.altered(AlterUserScramCredentialsRequest([], [upsertion])) == 0
        self.former.append(self.passwords.get((user, mechanism), "never"))
        self.passwords[user, mechanism] = password

    def altered(self, request: AlterUserScramCredentialsRequest) -> int:
        code: int = self.cluster.ask(request, 0).results[0].error_code
        return code

    def make_token(self) -> None:
        owner = self.random.choice(USERS)
        lifetime_ms = self.random.choice((-1, 5_000, 30_000))
        request = CreateDelegationTokenRequest(max_lifetime_ms=lifetime_ms)
        made = self.cluster.ask(request, 3, peer=_peer(owner))
        assert made.error_code == 0
        login = Login(made.token_id, base64.b64encode(made.hmac).decode(), by_token=True)
        self.tokens.append(Token(owner, login, made.hmac, made.expiry_timestamp_ms, made.max_timestamp_ms))
        assert made.expiry_timestamp_ms == min(self.now_ms + EXPIRY_MS, made.max_timestamp_ms)

    def change_token(self) -> None:
        if not self.tokens:
            return
        token = self.random.choice(self.tokens)
        period_ms = self.random.choice((-1, 0, 2_000, 12_000))
        is_over = self.now_ms > token.expires_ms
        if self.random.random() < 0.3:
            renewed = self.cluster.ask(RenewDelegationTokenRequest(token.hmac, period_ms), 2, peer=_peer(token.owner))
            assert renewed.error_code == (ErrorCode.DELEGATION_TOKEN_EXPIRED if is_over else 0)
            expires_ms = min(token.max_ms, self.now_ms + (period_ms if period_ms > 0 else EXPIRY_MS))
            token.expires_ms = token.expires_ms if is_over else expires_ms
        elif self.random.random() < 0.3:
            _ = self.cluster.controller.remove_expired_tokens().value
            over = [each for each in self.tokens if self.now_ms > each.expires_ms]
            for each in over:
                self.lose(each)
        else:
            answer = self.cluster.ask(ExpireDelegationTokenRequest(token.hmac, period_ms), 2, peer=_peer(token.owner))
            if period_ms < 0:
                assert answer.error_code == 0
                self.lose(token)
            else:
                assert answer.error_code == (ErrorCode.DELEGATION_TOKEN_EXPIRED if is_over else 0)
                token.expires_ms = token.expires_ms if is_over else min(token.max_ms, self.now_ms + period_ms)

    def lose(self, token: Token) -> None:
        self.tokens.remove(token)
        self.lost.append(token)

    def change_rights(self) -> None:
        user = self.random.choice(USERS)
        if user in self.allowed:
            self.allowed.remove(user)
            _ = self.cluster.controller.delete_acls([AclFilter(principal=f"User:{user}")]).value
        else:
            self.allowed.add(user)
            acl = Acl(TOPIC, "t", LITERAL, f"User:{user}", "*", DESCRIBE, ALLOW)
            assert self.cluster.controller.create_acls([acl]).value == [None]

    # ---- who signs in -----------------------------------------------------------------------------------------------------

    def some_login(self, mechanism: str) -> Login:
        user = self.random.choice(USERS)
        good = self.passwords.get((user, mechanism), "never")
        known = [token.login for token in [*self.tokens, *self.lost]]
        ways = [Login(user, good), Login(user, good), Login(user, self.random.choice(self.former)), *known[-3:]]
        return self.random.choice(ways)

    def owner(self, login: Login, mechanism: str) -> tuple[str, int] | None:
        """Whom a login is of by now, and how long its session may last; None for one that is not valid."""
        if not login.by_token:
            is_good = self.passwords.get((login.name, mechanism)) == login.password
            return (login.name, REAUTH_MS) if is_good else None
        for token in self.tokens:
            if token.login == login:
                return token.owner, min(REAUTH_MS, max(0, token.expires_ms - self.now_ms))
        return None

    def sign_in(self) -> None:
        session = Session(self.cluster, self.listeners)
        mechanism = self.random.choice(list(MECHANISMS))
        hello = session.ask(SaslHandshakeRequest(mechanism), 1)
        assert hello is not None
        assert hello.error_code == 0
        self.authenticate(session, mechanism, None)

    def sign_in_again(self) -> None:
        if not self.sessions:
            return None
        session = self.random.choice(self.sessions)
        mechanism = session.mechanism if self.random.random() < 0.85 else self.random.choice(list(MECHANISMS))
        is_too_early = session.renewed_ms is not None and self.now_ms - session.renewed_ms < BETWEEN_MS
        hello = session.ask(SaslHandshakeRequest(mechanism), 1)
        if is_too_early and self.now_ms > session.ends_ms:
            assert hello is None
            return self.check_closed(session)
        if is_too_early:
            self.seen["too early"] += 1
            assert hello is not None
            assert hello.error_code == ErrorCode.ILLEGAL_SASL_STATE
            return None
        assert hello is not None
        assert hello.error_code == 0, "also when the session is over"
        return self.authenticate(session, mechanism, session.user)

    def authenticate(self, session: Session, mechanism: str, former: str | None) -> None:
        login = self.some_login(mechanism)
        client = ScramLogin(mechanism, login.name, login.password, f"n{self.random.random()}", by_token=login.by_token)
        found = self.owner(login, mechanism)
        is_other = former is not None and mechanism != session.mechanism
        first = session.ask(SaslAuthenticateRequest(client.first()), 2)
        if is_other:
            self.seen["another mechanism"] += 1
            assert first is None
            return self.check_closed(session)
        assert first is not None
        if self.is_unknown(login, mechanism):
            assert first.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            return self.check_closed(session)
        assert first.error_code == 0
        proof = client.answer(first.auth_bytes)
        assert proof is not None
        while self.random.random() < 0.3:  # what was found at first counts
            self.random.choice((self.alter, self.change_token, self.change_rights))()
        last = session.ask(SaslAuthenticateRequest(proof), 2)
        assert last is not None
        if found is None or (former is not None and found[0] != former):
            self.seen["refused"] += 1
            assert last.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            if found is not None:
                assert "Cannot change principals" in (last.error_message or "")
            return self.check_closed(session)
        assert (last.error_code, last.session_lifetime_ms) == (0, found[1])
        client.answer(last.auth_bytes)
        session.mechanism, session.user, session.by_token = mechanism, found[0], login.by_token
        session.ends_ms = self.now_ms + found[1]
        self.seen["by token" if login.by_token else "by password"] += 1
        if former is not None:
            session.renewed_ms = self.now_ms
            self.seen["again"] += 1
        else:
            self.sessions.append(session)
        return None

    def is_unknown(self, login: Login, mechanism: str) -> bool:
        """Whether there is no credential to prove."""
        if login.by_token:
            return all(token.login != login for token in self.tokens)
        return (login.name, mechanism) not in self.passwords

    def check_closed(self, session: Session) -> None:
        assert session.wire.is_closed
        if session in self.sessions:
            self.sessions.remove(session)
        session.wire.end()

    # ---- what he may do -----------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        if not self.sessions:
            return None
        session = self.random.choice(self.sessions)
        is_over = self.now_ms > session.ends_ms
        if self.random.random() < 0.2:
            made = session.ask(CreateDelegationTokenRequest(max_lifetime_ms=1), 3)
            if made is not None:
                refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
                assert made.error_code == (refused if session.by_token else 0)
        else:
            made = session.ask(MetadataRequest([MetadataRequestTopic(name="t")]), 9)
            if made is not None:
                denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                assert made.topics[0].error_code == (0 if session.user in self.allowed else denied)
        assert (made is None) == is_over
        if is_over:
            self.seen["over"] += 1
            return self.check_closed(session)
        assert session.connection.principal == f"User:{session.user}"
        assert session.connection.by_token == session.by_token
        return None


def _peer(user: str) -> Peer:
    return Peer(listener="SASL", principal=f"User:{user}")


@pytest.fixture(autouse=True)
def salted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same few passwords are salted again and again."""
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", _salted)


_salted = cache(hashlib.pbkdf2_hmac)


@pytest.mark.parametrize("seed", seeds(100, found=FOUND))
def test_sessions(seed: int) -> None:
    World(seed).work()


def test_what_the_seeds_come_by() -> None:
    """Each outcome is among them."""
    seen: Counter[str] = Counter()
    for seed in range(30):
        world = World(seed)
        world.work()
        seen += world.seen
    outcomes = {"by token", "by password", "again", "too early", "another mechanism", "refused", "over"}
    assert set(seen) == outcomes
