from __future__ import annotations

from pykbroker.client.aborted import Batches, without_aborted
from pykbroker.wire.control_records import EndTxnMarker, encode_end_txn_batch
from pykbroker.wire.messages.fetch import AbortedTransaction
from pykbroker.wire.records import Record, encode_batch, read_batch_header


def _batches(*steps: tuple[str, int]) -> Batches:
    """One record or marker at each offset: ("data" | "commit" | "abort" | "plain", producer id)."""
    batches: Batches = []
    for offset, (what, producer) in enumerate(steps):
        if what in ("commit", "abort"):
            marker = EndTxnMarker(what == "commit", 0)
            data = encode_end_txn_batch(marker, producer_id=producer, producer_epoch=0, timestamp=0, base_offset=offset)
        else:
            data = encode_batch(
                [Record(offset)], base_offset=offset, producer_id=producer, transactional=what == "data"
            )
        batches.append((read_batch_header(data), data))
    return batches


def _kept(batches: Batches, *aborted: tuple[int, int]) -> list[int]:
    transactions = [AbortedTransaction(producer, first) for producer, first in aborted]
    return [header.base_offset for header, _ in without_aborted(batches, transactions) if not header.is_control]


def test_an_aborted_transaction_is_left_out() -> None:
    assert _kept(_batches(("data", 1), ("plain", -1), ("data", 1), ("abort", 1)), (1, 0)) == [1]


def test_the_next_transaction_of_the_producer_stays() -> None:
    assert _kept(_batches(("data", 1), ("abort", 1), ("data", 1), ("commit", 1)), (1, 0)) == [2]


def test_one_that_began_before_the_fetch() -> None:
    batches = _batches(("data", 1), ("data", 1), ("abort", 1), ("data", 1))[1:]
    assert _kept(batches, (1, 0)) == [3]


def test_producers_between_each_other() -> None:
    steps = [("data", 1), ("data", 2), ("data", 1), ("commit", 2), ("data", 2), ("abort", 1), ("abort", 2)]
    assert _kept(_batches(*steps), (1, 0), (2, 4)) == [1]


def test_what_the_idempotent_producer_wrote_without_transaction_stays() -> None:
    assert _kept(_batches(("plain", 1), ("data", 1), ("abort", 1)), (1, 0)) == [0]
