"""Receive blocks and the memory budget: a crowd that sends large frames is served in turn, and no more is held than there is."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.network.claim import Claim
from pykbroker.network.receive_block import BLOCK, ReceiveBlock, shared_block
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime

MB = 1024 * 1024
CROWD, ROUNDS = 50, 6


class Sender:
    """A connection whose client sends one frame of a megabyte after the other, as a connection receives them."""

    def __init__(self, runtime: Runtime, shared: memoryview) -> None:
        self._received = ReceiveBlock(shared)
        self._claim = Claim(runtime)
        self._waits = False
        self.served = 0
        self._left = MB

    def receive(self) -> None:
        """A turn in which bytes have arrived."""
        if self._waits:
            return
        self._received.end += min(len(self._received.view) - self._received.end, self._left, BLOCK * 4)
        self._left = MB - (self._received.end - self._received.start)
        if not self._left:
            self.served += 1
            self._left = MB
            self._received.emptied()
            self._claim.settle(self._received)
            return
        self._received.keep(self._received.start, MB)
        wait = self._claim.cover(self._received)
        if wait is not None:
            self._waits = True
            wait.when_done(lambda _: self._granted())

    def _granted(self) -> None:
        self._waits = False


@given(st.integers(2 * MB, 80 * MB), st.integers(0, 2**32))
def test_a_crowd_is_served_in_turn(limit: int, seed: int) -> None:
    """Whoever was served goes to the end: nobody has two answers more than one who waits, whatever the memory."""
    runtime = Runtime(ManualClock(0), random.Random(seed))
    runtime.memory.limit = limit
    shared = shared_block()
    crowd = [Sender(runtime, shared) for _ in range(CROWD)]
    while min(each.served for each in crowd) < ROUNDS:
        for each in crowd:
            each.receive()
            assert runtime.memory.used <= max(limit, 2 * MB) + CROWD * BLOCK
        served = [each.served for each in crowd]
        assert max(served) - min(served) <= 2


def test_a_block_that_is_given_back_goes_to_the_next_that_waits() -> None:
    """With its pages, which cost more than what is received into them. What the other had received is still there."""
    runtime = Runtime(ManualClock(0), random.Random(1))
    runtime.memory.limit = MB
    shared = shared_block()
    blocks, claims = [ReceiveBlock(shared) for _ in range(2)], [Claim(runtime) for _ in range(2)]
    waits = []
    for number, (block, claim) in enumerate(zip(blocks, claims, strict=True)):
        block.view[:9] = b"%9d" % number
        block.end = 9
        block.keep(0, MB)
        waits.append(claim.cover(block))
    first, second = (block.view for block in blocks)
    assert waits[0] is None
    assert waits[1] is not None
    blocks[0].emptied()
    claims[0].settle(blocks[0])
    assert waits[1].done
    assert blocks[1].view is first
    assert second is not first
    assert bytes(blocks[1].view[: blocks[1].end]) == b"%9d" % 1
    assert runtime.memory.spare is None
    blocks[1].emptied()
    claims[1].settle(blocks[1])  # nobody waits, and it is more than half of the memory: kept for the next
    assert runtime.memory.spare is first
    assert runtime.memory.used == 0
    blocks[0].view[:9] = b"%9d" % 2
    blocks[0].end = 9
    blocks[0].keep(0, MB)
    assert claims[0].cover(blocks[0]) is None
    assert blocks[0].view is first
    runtime.memory.limit = 80 * MB
    blocks[0].emptied()
    claims[0].settle(blocks[0])  # there is enough now: the connection keeps it
    assert blocks[0].view is first
    assert runtime.memory.spare is None
