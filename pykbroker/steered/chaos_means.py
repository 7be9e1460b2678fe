"""What befalls a cluster by chaos, by real means: drawn from what its state allows, and carried out."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, Final

from pykbroker.controller.topics import NewTopic
from pykbroker.faults.chaos_tape import LONGEST_DOWN_MS, ClusterOutcome
from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.process.node import Node
    from pykbroker.runtime.waits import Deferred

#: How long a broker is down, or cut off, at least and at most, in seconds.
_DOWN_S: Final = (0.5, 5.0)
#: What a silence lasts beyond the time-out that it is to exceed, in milliseconds: deadlines are looked at in rounds.
_BEYOND_MS: Final = 500
#: How far a clock is wrong at the least, in milliseconds: by less it is slewed.
_LEAST_STEP_MS: Final = 128
#: And at the most: what begins meanwhile, as a transaction, ends so much later, which is to be soon after the chaos.
_LARGEST_STEP_MS: Final = 10_000
#: The most members, transactions and partitions from which one is drawn.
_MOST: Final = 2_000
_COORDINATORS: Final = ("__consumer_offsets", "__transaction_state")

_Draw = Callable[[Random, int, str], ClusterOutcome | None]
_Way = Callable[[ClusterOutcome], Coroutine[Any, Any, None]]


class RealMeans:
    """The means of one process. ``clients_of`` gives the clients that have asked any of some APIs."""

    def __init__(self, node: Node, clients_of: Callable[..., Sequence[str]]) -> None:
        self._node = node
        self._clients_of = clients_of
        #: How each kind is drawn, and how it is carried out.
        self._kinds: Final[dict[str, tuple[_Draw, _Way]]] = {
            "leader moved": (self._draw_move, self._move),
            "coordinator moved": (self._draw_move, self._move),
            "broker restarted": (self._draw_down, self._stop_and_start),
            "broker lost": (self._draw_down, self._stop_and_start),
            "brokers cut off": (self._draw_down, self._cut_off),
            "session expired": (self._draw_session, self._silence),
            "transaction timed out": (self._draw_transaction, self._silence),
            "records expired": (self._draw_round, self._expire_records),
            "offsets expired": (self._draw_round, self._expire_offsets),
            "topic made again": (self._draw_topic, self._make_again),
            "unclean election": (self._draw_unclean, self._elect_uncleanly),
            "clock step": (self._draw_step, self._step_clock),
        }

    @property
    def names(self) -> list[str]:
        """The kinds that it can carry out."""
        return list(self._kinds)

    def drawn(self, name: str, rng: Random, at_ms: int) -> ClusterOutcome | None:
        """An outcome of a kind, as the present state allows it; None if it allows none."""
        draw, _ = self._kinds[name]
        return draw(rng, at_ms, name)

    async def carry_out(self, outcome: ClusterOutcome) -> None:
        """Let it happen, to its end. Raises what the controller, and stops and starts of brokers raise, where it cannot."""
        _, way = self._kinds[outcome.outcome]
        await way(outcome)

    # ---- drawn

    def _draw_move(self, rng: Random, at_ms: int, name: str) -> ClusterOutcome | None:
        movable = self._movable(of_coordinators=name == "coordinator moved")
        if not movable:
            return None
        topic, number, partition = rng.choice(movable)
        to = rng.choice([each for each in partition.isr if each != partition.leader])
        return ClusterOutcome(at_ms, name, to, topic, number)

    def _draw_down(self, rng: Random, at_ms: int, name: str) -> ClusterOutcome | None:
        cluster = self._node.cluster
        if len(cluster.brokers) < 2 or (name == "brokers cut off" and cluster.peers is None):
            return None
        node_id = rng.choice(sorted(cluster.brokers))
        return ClusterOutcome(at_ms, name, node_id, down_ms=round(1000 * rng.uniform(*_DOWN_S)))

    def _draw_session(self, rng: Random, at_ms: int, name: str) -> ClusterOutcome | None:
        members = sorted(set(islice(self._members(), _MOST)))
        if not members:
            return None
        client, broker, session_ms = rng.choice(members)
        return self._silent(at_ms, name, broker, client, session_ms)

    def _members(self) -> Iterator[tuple[str, int, int]]:
        """The client ids of members, the broker of their coordinator, and their session time-out in milliseconds."""
        for node_id, broker in self._node.cluster.brokers.items():
            for loaded in broker.groups.shards.loaded.values():
                for group in loaded.shard.groups.values():
                    members: Any = group.members
                    for member in members.values():
                        session_ms = getattr(member, "session_timeout_ms", None) or getattr(
                            group, "session_timeout_ms", 0
                        )
                        if member.client_id and session_ms:
                            yield member.client_id, node_id, session_ms

    def _draw_transaction(self, rng: Random, at_ms: int, name: str) -> ClusterOutcome | None:
        clients = self._clients_of(ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN)
        open_ones = sorted(set(islice(self._open_transactions(), _MOST)))
        if not clients or not open_ones:
            return None
        timeout_ms, broker = rng.choice(open_ones)
        round_ms = self._node.cluster.config["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
        return self._silent(at_ms, name, broker, rng.choice(clients), timeout_ms + round_ms)

    def _open_transactions(self) -> Iterator[tuple[int, int]]:
        """The time-outs of open transactions in milliseconds, and the broker of their coordinator."""
        for node_id, broker in self._node.cluster.brokers.items():
            for loaded in broker.transactions.shards.loaded.values():
                for each in loaded.shard.transactions.values():
                    if each.is_open:
                        yield each.timeout_ms, node_id

    def _silent(self, at_ms: int, name: str, broker: int, client: str, least_ms: int) -> ClusterOutcome | None:
        lasts = least_ms + _BEYOND_MS
        return ClusterOutcome(at_ms, name, broker, down_ms=lasts, client=client) if lasts <= LONGEST_DOWN_MS else None

    def _draw_round(self, _: Random, at_ms: int, name: str) -> ClusterOutcome | None:
        return ClusterOutcome(at_ms, name, min(self._node.cluster.brokers, default=0))

    def _draw_topic(self, rng: Random, at_ms: int, name: str) -> ClusterOutcome | None:
        topics = self._node.cluster.metadata.image.topics
        names = sorted(each for each, topic in topics.items() if not topic.internal)
        if not names:
            return None
        topic = rng.choice(names)
        return ClusterOutcome(at_ms, name, topics[topic].partitions[0].replicas[0], topic, 0)

    def _draw_unclean(self, rng: Random, at_ms: int, name: str) -> ClusterOutcome | None:
        cluster = self._node.cluster
        leaders = sorted({partition.leader for partition in self._may_lose()})
        lasts = 3 * cluster.config["replica.lag.time.max.ms"] // 2 + _BEYOND_MS
        if not leaders or lasts > LONGEST_DOWN_MS:
            return None
        return ClusterOutcome(at_ms, name, rng.choice(leaders), down_ms=lasts)

    def _may_lose(self) -> Iterator[PartitionImage]:
        """The led partitions with followers of topics that allow unclean elections."""
        cluster = self._node.cluster
        if cluster.peers is None:
            return
        image = cluster.metadata.image
        for name, topic in image.topics.items():
            if cluster.config.effective_topic_settings(image.topic_config(name))["unclean.leader.election.enable"]:
                yield from (each for each in topic.partitions.values() if len(each.replicas) > 1 and each.leader >= 0)

    def _draw_step(self, rng: Random, at_ms: int, name: str) -> ClusterOutcome:
        size = round(_LEAST_STEP_MS * math.pow(_LARGEST_STEP_MS / _LEAST_STEP_MS, rng.random()))
        lasts = round(1000 * rng.uniform(*_DOWN_S))
        node_id = min(self._node.cluster.brokers, default=0)
        return ClusterOutcome(at_ms, name, node_id, down_ms=lasts, ahead_ms=rng.choice((-size, size)))

    def _movable(self, *, of_coordinators: bool) -> list[tuple[str, int, PartitionImage]]:
        """Partitions that another broker in sync could lead, in order."""
        topics = self._node.cluster.metadata.image.topics
        return [
            (name, number, partition)
            for name, topic in sorted(topics.items())
            if (name in _COORDINATORS) == of_coordinators
            for number, partition in sorted(topic.partitions.items())
            if any(each != partition.leader for each in partition.isr)
        ]

    # ---- carried out

    async def _outcome(self, wait: Deferred[Any]) -> Any:
        return await self._node.lifetimes.outcome(wait)

    async def _move(self, outcome: ClusterOutcome) -> None:
        controller = self._node.cluster.controller
        await self._outcome(controller.move_leader(outcome.topic, outcome.partition, outcome.broker))

    async def _stop_and_start(self, outcome: ClusterOutcome) -> None:
        await self._node.brokers.stop(outcome.broker, abrupt=outcome.outcome == "broker lost")
        await asyncio.sleep(outcome.down_ms / 1000)
        await self._node.brokers.start(outcome.broker)

    async def _cut_off(self, outcome: ClusterOutcome) -> None:
        with self._apart(outcome.broker):
            await asyncio.sleep(outcome.down_ms / 1000)

    @contextmanager
    def _apart(self, broker: int) -> Iterator[None]:
        """Meanwhile nothing passes between a broker and the others."""
        if (peers := self._node.cluster.peers) is None:
            yield
            return
        peers.apart.append(broker)
        try:
            yield
        finally:
            peers.apart.remove(broker)

    async def _silence(self, outcome: ClusterOutcome) -> None:
        self._node.faults.silence(outcome.client, outcome.down_ms)

    async def _expire_records(self, _: ClusterOutcome) -> None:
        await self._outcome(self._node.housekeeping.run_retention())

    async def _expire_offsets(self, _: ClusterOutcome) -> None:
        brokers: list[Broker] = list(self._node.cluster.brokers.values())
        for broker in brokers:
            broker.groups.expire_now()

    async def _make_again(self, outcome: ClusterOutcome) -> None:
        image, controller = self._node.cluster.metadata.image, self._node.cluster.controller
        topic, configs = image.topics[outcome.topic], dict(image.topic_config(outcome.topic))
        assignments = [(each.index, list(each.replicas)) for each in topic.in_order()]
        await self._outcome(controller.delete_topics([topic.id]))
        made = NewTopic(topic.name, assignments=assignments, configs=configs)
        await self._outcome(controller.create_topics([made]))

    async def _elect_uncleanly(self, outcome: ClusterOutcome) -> None:
        """Its followers leave the ISR where something is written, and it is lost with what it has taken alone before they are back."""
        with self._apart(outcome.broker):
            await asyncio.sleep(outcome.down_ms / 1000)
            await self._node.brokers.stop(outcome.broker, abrupt=True)
        await asyncio.sleep(_DOWN_S[0])
        await self._node.brokers.start(outcome.broker)

    async def _step_clock(self, outcome: ClusterOutcome) -> None:
        clock = self._node.cluster.runtime.clock
        clock.step_to(outcome.ahead_ms)
        try:
            await asyncio.sleep(outcome.down_ms / 1000)
        finally:
            clock.step_to(0)
