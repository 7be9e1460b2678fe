from __future__ import annotations

from pykbroker.lake.ledger import PartitionProgress
from pykbroker.lake.values.decode_progress import DecodeAccount, Done, PlannedBatch


def test_an_account_adds_up_what_batches_did() -> None:
    first = DecodeAccount().after(
        PlannedBatch(0, {"n": "BIGINT"}, {0: (0, 10), 1: (5, 6)}), "noon", {0: 7}, {0: 2, 1: 1}
    )
    assert first.partitions == {0: Done(0, 10, 7, 2), 1: Done(5, 6, 0, 1)}
    second = first.after(PlannedBatch(1, {"n": "BIGINT"}, {0: (10, 20)}), "later", {0: 10}, {})
    assert (second.rows, second.quarantined, second.batch) == (17, 3, 1)
    again = second.after(PlannedBatch(2, {"n": "BIGINT"}, {0: (20, 20), 1: (6, 6)}, again=True), "then", {1: 1}, {0: 2})
    assert again.partitions == {0: Done(0, 20, 17, 2), 1: Done(5, 6, 1, 0)}


def test_what_is_written_is_read_again() -> None:
    plan = PlannedBatch(3, {"n": {"array": "BIGINT"}}, {0: (0, 10)}, {0: 9})
    assert PlannedBatch.from_json(plan.to_json()) == plan
    account = DecodeAccount(3, "noon", plan.columns, {0: Done(0, 10, 7, 2)})
    assert DecodeAccount.from_json(account.to_json()) == account


def test_what_is_behind_is_counted_from_where_the_archive_began() -> None:
    account = DecodeAccount(0, "", {}, {0: Done(3, 7)})
    assert account.behind({0: PartitionProgress(3, 9), 1: PartitionProgress(2, 5)}) == 2 + 3
