"""Delegation tokens and quotas in any order of changes, ends and starts, against what was answered: tokens that expire while nobody
runs, that are renewed just before a kill, and whose key is another one after a start; quotas that hold again at once.

Any seed can be run alone: ``pytest -k 'test_random_tokens_and_quotas[42]'``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from pykbroker.controller.client_quotas import QuotaAlteration
from pykbroker.controller.delegation_tokens import NewToken
from pykbroker.process.life import Life
from pykbroker.process.limiting import Limiting
from pykbroker.security.delegation_tokens import hmac_of
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.storage.seeds import seeds
from pykbroker.tests.storage.support import batch
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.worlds.disk import ProcessDied

KEYS = ("one", "two")
LIFETIME_MS, EXPIRY_MS = 100_000, 20_000
OWNERS = ("User:alice", "User:bob")
STRANGER = "User:mallory"
#: The id that clients of the kit have.
CLIENT = "client"
RATE = "producer_byte_rate"
#: Bytes a second: any produce is too much for the one, and none for the other.
TINY, AMPLE = 1.0, 1e12
#: Whom quotas are set for, in Kafka's order of precedence for the user ``alice`` or ``bob``.
ENTITIES = (
    *(
        entity
        for user in ("alice", "bob", None)
        for entity in (
            (("client-id", CLIENT), ("user", user)),
            (("client-id", None), ("user", user)),
            (("user", user),),
        )
    ),
    (("client-id", CLIENT),),
    (("client-id", None),),
)


@dataclass(frozen=True)
class Token:
    """What was answered of it."""

    owner: str
    renewers: tuple[str, ...]
    latest_ms: int
    expires_ms: int


Tokens = dict[str, Token]
Quotas = dict[Any, float]


class Worker:
    """One run."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = MemoryCluster(
            seed=seed,
            delegation_token_secret_key=KEYS[0],
            delegation_token_max_lifetime_ms=str(LIFETIME_MS),
            delegation_token_expiry_time_ms=str(EXPIRY_MS),
            metadata_log_max_record_bytes_between_snapshots="2000",
        )
        self.world.topic("t", 1)
        self.tokens: Tokens = {}
        self.quotas: Quotas = {}
        #: Tokens that there were.
        self.gone: dict[str, None] = {}
        #: What the two are when the change that is under way is on the disk.
        self.changing: tuple[Tokens, Quotas] | None = None
        self.limiting = Limiting(cast("Any", self.world), [1])  # of the server it asks for the dispatcher only
        self.life = Life(self.world.cluster)
        self.limiting.follow(self.life)

    # -- work ---------------------------------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        return self.world.clock.now_ms()

    @property
    def key(self) -> str:
        return self.world.settings["delegation.token.secret.key"]

    def step(self) -> None:
        self.world.advance(self.random.choice((0, 1, 500, 7000, EXPIRY_MS)))
        work = {
            self.create: 2,
            self.renew: 1,
            self.expire: 2,
            self.remove_expired: 1,
            self.ask_for_gone: 0.5,
            self.alter_quota: 1,
            self.produce: 1,
        }
        self.random.choices(list(work), list(work.values()))[0]()

    def change(self, ask: Callable[[], Any], tokens: Tokens | None = None, quotas: Quotas | None = None) -> Any:
        """Ask for what makes these of the tokens or quotas there are; the answer."""
        after = self.tokens if tokens is None else tokens, self.quotas if quotas is None else quotas
        self.changing = after
        answer = ask().value
        self.changing = None
        self.gone |= dict.fromkeys(token_id for token_id in self.tokens if token_id not in after[0])
        self.tokens, self.quotas = after
        return answer

    def create(self) -> None:
        owner = self.random.choice(OWNERS)
        wanted = NewToken(owner, owner, [self.random.choice(OWNERS)], self.random.choice((-1, 5000, 50_000)))
        lifetime_ms = wanted.max_lifetime_ms if wanted.max_lifetime_ms > 0 else LIFETIME_MS
        token = Token(
            owner, tuple(wanted.renewers), self.now_ms + lifetime_ms, self.now_ms + min(lifetime_ms, EXPIRY_MS)
        )
        # Its id is not known before it is answered; one that was not is found by the start.
        answer = self.change(
            lambda: self.world.controller.create_delegation_token(wanted), tokens={**self.tokens, "": token}
        )
        self.tokens[answer.token_id] = self.tokens.pop("")
        assert answer.expiration_timestamp == token.expires_ms

    def some_token(self) -> tuple[str, Token] | None:
        return self.random.choice(list(self.tokens.items())) if self.tokens else None

    def renew(self) -> None:
        self.move_end(self.random.choice((-1, 3000, 10**9)), renewing=True)

    def expire(self) -> None:
        self.move_end(self.random.choice((-1, 0, 3000, 10**9)), renewing=False)

    def move_end(self, period_ms: int, *, renewing: bool) -> None:
        found = self.some_token()
        if found is None:
            return
        token_id, token = found
        asker = self.random.choice((token.owner, *token.renewers, STRANGER))
        key = self.random.choice((self.key, self.key, *KEYS))
        at_once = not renewing and period_ms < 0
        refusal = self.refusal(token, asker, key, at_once=at_once, renewing=renewing)
        longest_ms = EXPIRY_MS if renewing else 10**18
        after_ms = EXPIRY_MS if renewing and period_ms <= 0 else min(period_ms, longest_ms)
        moved = replace(token, expires_ms=min(token.latest_ms, self.now_ms + after_ms))
        after = {each: moved if each == token_id else other for each, other in self.tokens.items()}
        if at_once:
            del after[token_id]
        controller = self.world.controller
        ask = controller.renew_delegation_token if renewing else controller.expire_delegation_token
        hmac = hmac_of(key.encode(), token_id)
        if refusal is not None:
            with pytest.raises(KafkaError) as refused:
                ask(asker, hmac, period_ms).value  # noqa: B018 - raises
            assert refused.value.code is refusal
            return
        expires_ms = self.change(lambda: ask(asker, hmac, period_ms), tokens=after)
        assert expires_ms == (self.now_ms if at_once else moved.expires_ms)

    def refusal(self, token: Token, asker: str, key: str, *, at_once: bool, renewing: bool) -> ErrorCode | None:
        """What Kafka refuses, in its order."""
        checks = {
            ErrorCode.DELEGATION_TOKEN_EXPIRED: self.is_over(token) and not at_once,
            ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: asker not in (token.owner, *token.renewers),
        }
        if key != self.key:
            return ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        order = checks.items() if renewing else reversed(checks.items())
        return next((code for code, applies in order if applies), None)

    def ask_for_gone(self) -> None:
        for token_id in list(self.gone)[-3:]:
            with pytest.raises(KafkaError) as refused:
                self.world.controller.renew_delegation_token(OWNERS[0], hmac_of(self.key.encode(), token_id), -1).value  # noqa: B018
            assert refused.value.code is ErrorCode.DELEGATION_TOKEN_NOT_FOUND

    def is_over(self, token: Token) -> bool:
        return min(token.latest_ms, token.expires_ms) < self.now_ms

    def remove_expired(self) -> None:
        """A round of housekeeping."""
        left = {token_id: token for token_id, token in self.tokens.items() if not self.is_over(token)}
        count = len(self.tokens) - len(left)
        assert self.change(self.world.controller.remove_expired_tokens, tokens=left) == count

    def alter_quota(self) -> None:
        entity = self.random.choice(ENTITIES)
        bound = self.random.choice((None, TINY, AMPLE))
        after = {each: rate for each, rate in self.quotas.items() if each != entity}
        if bound is not None:
            after[entity] = bound
        alteration = QuotaAlteration(entity, [(RATE, bound)])
        controller = self.world.controller
        answer = self.change(
            lambda: controller.alter_client_quotas([alteration], frozenset(), validate_only=False), quotas=after
        )
        assert answer == {entity: None}

    def produce(self) -> None:
        """Clients are held to what holds now."""
        for user in ("alice", "bob"):
            data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(0, bytes(batch([b"x"])))])]
            peer = Peer(principal=f"User:{user}")
            answer = self.world.ask(ProduceRequest(None, -1, 1000, data), 9, peer=peer)
            assert (answer.throttle_time_ms > 0) == (self.bound_of(user) == TINY), user

    def bound_of(self, user: str) -> float:
        """That of the first entity in Kafka's order."""
        for entity in ENTITIES:
            if dict(entity).get("user", user) in (user, None) and entity in self.quotas:
                return self.quotas[entity]
        return AMPLE

    # -- ends ---------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new process, some time later, perhaps with another key."""
        self.world.disk.fail = None
        self.world.clock.advance(self.random.choice((0, 10, 5000, EXPIRY_MS, LIFETIME_MS)))
        self.world.settings["delegation.token.secret.key"] = self.random.choice((self.key, self.key, *KEYS))
        self.world.start()
        self.life.end()
        self.life = Life(self.world.cluster)
        self.limiting.follow(self.life)

    def stop_cleanly(self) -> None:
        self.world.cluster.shutdown()
        self.start()

    def lose_power(self) -> None:
        self.world.disk.crash(self.random)
        self.start()

    def die(self) -> None:
        """Killed at a random one of the next operations; then, perhaps, the power goes too."""
        disk = self.world.disk
        last = disk.operations + self.random.randint(1, 25)
        disk.fail = lambda number, _: ProcessDied() if number >= last else None
        try:
            for _ in range(50):
                self.step()
        except ProcessDied:
            pass
        self.random.choice((self.start, self.lose_power))()

    # -- what must hold -----------------------------------------------------------------------------------------------

    def found(self) -> tuple[Tokens, Quotas]:
        image = self.world.image
        tokens = {
            token_id: Token(each.owner, tuple(each.renewers), each.max_timestamp, each.expiration_timestamp)
            for token_id, each in image.delegation_tokens.items()
        }
        return tokens, {entity: values[RATE] for entity, values in image.client_quotas.items() if values}

    def check(self) -> None:
        """What was answered is there; of what was not, all or nothing."""
        found, changing = self.found(), self.changing
        self.changing = None
        if changing is not None and "" in changing[0]:
            new = [token_id for token_id in found[0] if token_id not in self.tokens]
            assert len(new) <= 1
            changing[0][new[0] if new else "not there"] = changing[0].pop("")
        assert found in ((self.tokens, self.quotas), changing)
        self.tokens, self.quotas = found
        self.produce()
        secrets = self.world.cluster.security.token_secrets
        for token_id in self.tokens:
            assert secrets.hmac(token_id) == hmac_of(self.key.encode(), token_id)


@pytest.mark.parametrize("seed", seeds(100))
def test_random_tokens_and_quotas(seed: int) -> None:
    worker = Worker(seed)
    for _ in range(5):
        for _ in range(worker.random.randrange(20)):
            worker.step()
        worker.check()
        worker.random.choice((worker.stop_cleanly, worker.start, worker.lose_power, worker.die, worker.die))()
        worker.check()
