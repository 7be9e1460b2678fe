"""Delegation tokens as records: what is refused, what life they have, and that any order of changes does what a model does."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.delegation_tokens import NewToken, TokenPlanner
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.features import METADATA_VERSION
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.image_records import image_records
from pykbroker.metadata.replay import replay
from pykbroker.runtime.clock import ManualClock
from pykbroker.security.delegation_tokens import hmac_of
from pykbroker.tests.kit.metadata import replayed
from pykbroker.wire.errors import ErrorCode, KafkaError

MAX_MS, EXPIRY_MS = 700, 100
KEY = b"the key"
ALICE, BOB, EVE = "User:alice", "User:bob", "User:eve"
START_MS = 1_700_000_000_000
END_OF_TIME = 2**63 - 1


class Tokens:
    """A planner, and the image that its records make."""

    def __init__(self, level: int = 30, **settings: str) -> None:
        values = {"secret.key": KEY.decode(), "max.lifetime.ms": str(MAX_MS), "expiry.time.ms": str(EXPIRY_MS)}
        values |= {name.replace("_", "."): text for name, text in settings.items()}
        self.config = BrokerConfig({f"delegation.token.{name}": text for name, text in values.items()})
        self.image = MetadataImage("cluster")
        self.image.features[METADATA_VERSION] = level
        self.clock = ManualClock(START_MS)
        self.planner = self.made()

    def made(self) -> TokenPlanner:
        return TokenPlanner(self.image, self.config, self.clock.now_ms, random.Random(1), since=14)

    def carry_out(self, decided: tuple[Any, Any]) -> Any:
        records, result = decided
        delta = MetadataDelta()
        for record in records:
            replay(self.image, record, delta)
        self.planner.follow(self.image, delta)
        return result

    def create(self, owner: str = ALICE, *renewers: str, lifetime_ms: int = -1, requester: str | None = None) -> bytes:
        """The secret of a new token."""
        token = self.carry_out(self.planner.create(NewToken(owner, requester or owner, renewers, lifetime_ms)))
        return hmac_of(KEY, token.token_id)

    def renew(self, asker: str, hmac: bytes, period_ms: int = -1) -> int:
        return self.carry_out(self.planner.renew(asker, hmac, period_ms)) - START_MS

    def expire(self, asker: str, hmac: bytes, period_ms: int = -1) -> int:
        return self.carry_out(self.planner.expire(asker, hmac, period_ms)) - START_MS

    def sweep(self) -> int:
        return self.carry_out(self.planner.remove_expired())

    @property
    def only(self) -> Any:
        (token,) = self.image.delegation_tokens.values()
        return token


def refused(code: ErrorCode) -> Any:
    return pytest.raises(KafkaError, match=f"^{code.name}: ")


@pytest.mark.parametrize(
    ("asked_ms", "expiry_ms", "max_ms"),
    [(-1, EXPIRY_MS, MAX_MS), (0, EXPIRY_MS, MAX_MS), (50, 50, 50), (300, EXPIRY_MS, 300), (9999, EXPIRY_MS, MAX_MS)],
)
def test_the_life_of_a_new_token(asked_ms: int, expiry_ms: int, max_ms: int) -> None:
    made = Tokens()
    made.create(ALICE, BOB, lifetime_ms=asked_ms, requester=EVE)
    token = made.only
    assert (token.owner, token.requester, token.renewers) == (ALICE, EVE, [BOB])
    times = (token.issue_timestamp, token.expiration_timestamp, token.max_timestamp)
    assert [time - START_MS for time in times] == [0, expiry_ms, max_ms]
    assert len(token.token_id) == 22
    assert replayed(list(image_records(made.image))).delegation_tokens == {token.token_id: token}


def test_no_time_is_after_the_end_of_time() -> None:
    made = Tokens(max_lifetime_ms=str(END_OF_TIME), expiry_time_ms=str(END_OF_TIME))
    hmac = made.create()
    assert made.only.max_timestamp == made.only.expiration_timestamp == END_OF_TIME
    assert made.renew(ALICE, hmac) == made.expire(ALICE, hmac, END_OF_TIME) == END_OF_TIME - START_MS


def test_without_a_key_there_are_no_tokens_and_those_that_there_were_stay() -> None:
    made = Tokens()
    hmac = made.create()
    made.config = BrokerConfig({"delegation.token.secret.key": ""})
    made.planner = made.made()
    for ask in (made.create, lambda: made.renew(ALICE, hmac), lambda: made.expire(ALICE, hmac)):
        with refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED):
            ask()
    made.clock.advance(MAX_MS + 1)
    assert made.image.delegation_tokens


def test_a_cluster_of_before_tokens_has_none() -> None:
    made = Tokens(level=13)
    for ask in (made.create, lambda: made.renew(ALICE, b""), lambda: made.expire(ALICE, b"")):
        with refused(ErrorCode.UNSUPPORTED_VERSION):
            ask()
    assert Tokens(level=14).create()


def test_who_may_renew_and_end_a_token() -> None:
    made = Tokens()
    hmac = made.create(ALICE, BOB, requester=EVE)
    made.clock.advance(10)
    assert made.renew(ALICE, hmac) == made.renew(BOB, hmac, 9999) == 10 + EXPIRY_MS
    assert made.renew(BOB, hmac, 20) == made.expire(BOB, hmac, 20) == 30
    for ask in (made.renew, made.expire):
        with refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH):
            ask(EVE, hmac)
        with refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
            ask(ALICE, hmac[::-1])
    assert made.expire(ALICE, hmac, -1) == 10
    assert made.image.delegation_tokens == {}
    with refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
        made.expire(ALICE, hmac)


def test_a_token_that_is_over_can_only_be_removed() -> None:
    made = Tokens()
    hmac = made.create()
    made.clock.advance(EXPIRY_MS)
    assert made.sweep() == 0  # it is over after its last millisecond
    made.clock.advance(1)
    with refused(ErrorCode.DELEGATION_TOKEN_EXPIRED):
        made.renew(ALICE, hmac)
    with refused(ErrorCode.DELEGATION_TOKEN_EXPIRED):
        made.expire(ALICE, hmac, 0)
    with refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH):  # who asks is looked at before
        made.expire(EVE, hmac, 0)
    made.expire(ALICE, hmac, -1)
    assert made.image.delegation_tokens == {}


def test_tokens_that_the_log_holds_are_known_by_their_secrets() -> None:
    made = Tokens()
    hmac = made.create()
    made.planner = made.made()
    assert made.renew(ALICE, hmac) == EXPIRY_MS


# ---- any order of changes


@dataclass(frozen=True)
class Life:
    """A token as the model has it."""

    owner: str
    renewers: tuple[str, ...]
    max_ms: int
    expires_ms: int


class Model:
    """Tokens by their secrets, in milliseconds since the start."""

    def __init__(self) -> None:
        self.tokens: dict[bytes, Life] = {}

    def create(self, hmac: bytes, now: int, owner: str, renewers: tuple[str, ...], lifetime: int) -> None:
        most = lifetime if 0 < lifetime < MAX_MS else MAX_MS
        self.tokens[hmac] = Life(owner, renewers, now + most, now + min(most, EXPIRY_MS))

    def renew(self, hmac: bytes, now: int, asker: str, period: int) -> int | ErrorCode:
        life = self.tokens.get(hmac)
        if life is None:
            return ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        if life.expires_ms < now:
            return ErrorCode.DELEGATION_TOKEN_EXPIRED
        if asker != life.owner and asker not in life.renewers:
            return ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        return self._set(hmac, now + (period if 0 < period < EXPIRY_MS else EXPIRY_MS))

    def expire(self, hmac: bytes, now: int, asker: str, period: int) -> int | ErrorCode:
        life = self.tokens.get(hmac)
        if life is None:
            return ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        if asker != life.owner and asker not in life.renewers:
            return ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        if period < 0:
            del self.tokens[hmac]
            return now
        if life.expires_ms < now:
            return ErrorCode.DELEGATION_TOKEN_EXPIRED
        return self._set(hmac, now + period)

    def sweep(self, now: int) -> int:
        over = [hmac for hmac, life in self.tokens.items() if life.expires_ms < now]
        for hmac in over:
            del self.tokens[hmac]
        return len(over)

    def _set(self, hmac: bytes, when: int) -> int:
        life = self.tokens[hmac]
        self.tokens[hmac] = replace(life, expires_ms=min(when, life.max_ms))
        return self.tokens[hmac].expires_ms


_who = st.sampled_from([ALICE, BOB, EVE])
_times = st.integers(-2, 120) | st.integers(80, 800)
_steps = st.one_of(
    st.tuples(st.just("create"), _who, st.lists(_who, max_size=2), _times),
    st.tuples(st.sampled_from(["renew", "expire"]), st.integers(0, 5), _who, _times),
    st.tuples(st.just("wait"), st.integers(1, 150)),
    st.tuples(st.just("sweep")),
    st.tuples(st.just("restart")),
)


@given(st.lists(_steps, max_size=30))
def test_any_order_of_changes(steps: list[tuple[Any, ...]]) -> None:
    made, model, secrets = Tokens(), Model(), [b"nobody's"]
    for step, *arguments in steps:
        now = made.clock.now_ms() - START_MS
        if step == "create":
            owner, renewers, lifetime = arguments
            secrets.append(made.create(owner, *renewers, lifetime_ms=lifetime))
            model.create(secrets[-1], now, owner, tuple(renewers), lifetime)
        elif step == "wait":
            made.clock.advance(*arguments)
        elif step == "sweep":
            assert made.sweep() == model.sweep(now)
        elif step == "restart":
            made.planner = made.made()
        else:
            which, asker, period = arguments
            hmac = secrets[which % len(secrets)]
            assert _result(getattr(made, step), asker, hmac, period) == getattr(model, step)(hmac, now, asker, period)
        lives = {
            hmac_of(KEY, token.token_id): Life(
                token.owner,
                tuple(token.renewers),
                token.max_timestamp - START_MS,
                token.expiration_timestamp - START_MS,
            )
            for token in made.image.delegation_tokens.values()
        }
        assert lives == model.tokens


def _result(ask: Any, *arguments: Any) -> int | ErrorCode:
    try:
        return int(ask(*arguments))
    except KafkaError as error:
        return error.code
