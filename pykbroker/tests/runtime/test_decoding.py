"""The allowance of a turn for decoding."""

from __future__ import annotations

from pykbroker.runtime.decoding import OF_A_BATCH, OF_A_TURN, DecodingAllowance
from pykbroker.runtime.waits import WakeQueue


def test_a_turn_decodes_some_and_the_next_one_again() -> None:
    queue = WakeQueue()
    allowance = DecodingAllowance(queue)
    assert not allowance.take(OF_A_BATCH + 1)
    granted = sum(allowance.take(OF_A_BATCH) for _ in range(100))
    assert granted == OF_A_TURN // OF_A_BATCH
    queue.run()
    assert allowance.take(OF_A_BATCH)
