"""Every course of events within bounds, on the brokers themselves: each event that is possible in a state goes on in a process of its own,
which is a copy of all there is, and a state that was there before is not gone on from.
"""

from __future__ import annotations

import gc
import logging
import mmap
import os
import sys
from hashlib import blake2b
from typing import Any, Final

from pykbroker.simulation.machines import LAG_MS, Machines, records_of
from pykbroker.simulation.passages import described
from pykbroker.tests.simulation.copies import ALL_FAULTS, Copies, Violation

_SLOTS: Final = 1 << 21
_WIDTH: Final = 8
_MOST_WORDS: Final = 4000


class Explorer:
    """``most`` is the number of states after which it gives up."""

    def __init__(self, most: int) -> None:
        self._most = most
        #: A table of hashes, and before it the number of states, that of transitions, and what was found.
        self._seen = mmap.mmap(-1, _SLOTS * _WIDTH)
        self._head = mmap.mmap(-1, 2 * _WIDTH + _MOST_WORDS)

    @property
    def states(self) -> int:
        return int.from_bytes(self._head[:_WIDTH], "big")

    @property
    def transitions(self) -> int:
        return int.from_bytes(self._head[_WIDTH : 2 * _WIDTH], "big")

    def _count(self, at: int) -> None:
        number = int.from_bytes(self._head[at : at + _WIDTH], "big") + 1
        self._head[at : at + _WIDTH] = number.to_bytes(_WIDTH, "big")

    def _is_new(self, key: Any) -> bool:
        digest = blake2b(repr(key).encode(), digest_size=_WIDTH).digest()
        slot = int.from_bytes(digest, "big") % _SLOTS
        while True:
            found = self._seen[slot * _WIDTH : (slot + 1) * _WIDTH]
            if found == digest:
                return False
            if found == bytes(_WIDTH):
                self._seen[slot * _WIDTH : (slot + 1) * _WIDTH] = digest
                self._count(0)
                return True
            slot = (slot + 1) % _SLOTS

    def explore(self, copies: Copies) -> int:
        """All that may follow; the number of states. Raises Violation."""
        sys.stdout.flush()
        gc.freeze()
        child = os.fork()
        if not child:
            self._end(self._go_on(copies))
        _, status = os.waitpid(child, 0)
        if status:
            words = bytes(self._head[2 * _WIDTH :]).rstrip(b"\0").decode()
            raise Violation(words or f"the explorer ended with {status}")
        return self.states

    @staticmethod
    def _end(found: bool) -> None:
        os._exit(found)

    def _go_on(self, copies: Copies) -> bool:
        """Whether a violation was found. The last event goes on here, the others in copies of this process."""
        while self._is_new(state_of(copies)) and self.states < self._most:
            events = list(copies.events())
            try:
                if not [each for each in events if each != ("time",)]:
                    copies.finish()
                    return False
                for event in events[:-1]:
                    child = os.fork()
                    if not child:
                        self._apply(copies, event)
                        self._end(self._go_on(copies))
                    if os.waitpid(child, 0)[1]:
                        return True
                self._apply(copies, events[-1])
            except BaseException as error:  # noqa: BLE001 - a process of its own reports it
                words = f"{type(error).__name__}: {error}".encode()[:_MOST_WORDS]
                self._head[2 * _WIDTH : 2 * _WIDTH + len(words)] = words
                return True
        return False

    def _apply(self, copies: Copies, event: Any) -> None:
        self._count(_WIDTH)
        copies.apply(event)


def state_of(copies: Copies) -> tuple[Any, ...]:
    """All that what follows depends on; of times only how long ago they are, up to when a follower lags."""
    machines = copies.machines
    state = machines.state
    brokers = [(each.id, each.epoch, each.fenced) for each in machines.image.brokers.values()]
    under_way = sorted((each.sender, each.receiver, described(each)) for each in machines.under_way)
    return (
        copies.records,
        copies.faults,
        copies.times,
        (state.leader, state.leader_epoch, state.partition_epoch, state.isr, state.eligible_leader_replicas),
        brokers,
        under_way,
        sorted(machines.cut),
        [_machine(machines, node) for node in machines.ids],
        [(value, code.done and code.value) for value, code in copies.watch.produced.items()],
    )


def _machine(machines: Machines, node: int) -> tuple[Any, ...]:
    partition, log = machines.replica(node), machines.log(node)
    if partition is None or log is None:
        return (node in machines.unnoticed,)
    manager = machines.cluster.brokers[node].store.replication
    assert manager is not None
    now_ms = manager.now_ms()
    led: Any = None
    if partition.led is not None:
        leading = partition.led.leading
        progress = [
            (
                each,
                it.log_end,
                it.leader_end,
                it.broker_epoch,
                min(now_ms - it.caught_up_ms, LAG_MS + 1),
                min(now_ms - it.fetched_ms, LAG_MS + 1),
            )
            for each, it in leading.followers.items()
        ]
        led = leading.isr.committed, leading.isr.proposed, leading.isr.partition_epoch, leading.epoch_start, progress
    fetchers = [
        (
            leader,
            fetcher._pending is not None,
            fetcher._resting,
            [(each.machine.place, each.resting, each.machine.stopped) for each in fetcher._followed.values()],
        )
        for leader, fetcher in manager._fetchers.items()
    ]
    altering = manager._altering
    sessions = [
        (item.current_leader_epoch, item.fetch_offset, item.sent_high_watermark, session.waiter is not None)
        for session in machines.cluster.brokers[node].fetch_sessions._sessions.values()
        for item in session.items.values()
    ]
    return (
        records_of(log),
        log.high_watermark,
        log.epochs.entries(),
        (partition.leader, partition.leader_epoch, partition.isr),
        led,
        fetchers,
        (altering._sent is not None, list(altering._waiting.values())),
        sorted(sessions),
    )


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    explorer = Explorer(_SLOTS // 2)
    explorer.explore(Copies(Machines(), int(sys.argv[1]), int(sys.argv[2]), ALL_FAULTS, times=1))
    sys.stdout.write(f"{explorer.states} states, {explorer.transitions} transitions\n")
