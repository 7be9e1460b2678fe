from __future__ import annotations

from pykbroker.lake.ledger import Progress
from pykbroker.lake.values.decode_progress import Account, Done, Plan


def test_an_account_adds_up_what_batches_did() -> None:
    first = Account().after(Plan(0, {"n": "BIGINT"}, {0: (0, 10), 1: (5, 6)}), "noon", {0: 7}, {0: 2, 1: 1})
    assert first.partitions == {0: Done(0, 10, 7, 2), 1: Done(5, 6, 0, 1)}
    second = first.after(Plan(1, {"n": "BIGINT"}, {0: (10, 20)}), "later", {0: 10}, {})
    assert (second.rows, second.quarantined, second.batch) == (17, 3, 1)
    again = second.after(Plan(2, {"n": "BIGINT"}, {0: (20, 20), 1: (6, 6)}, again=True), "then", {1: 1}, {0: 2})
    assert again.partitions == {0: Done(0, 20, 17, 2), 1: Done(5, 6, 1, 0)}


def test_what_is_written_is_read_again() -> None:
    plan = Plan(3, {"n": {"array": "BIGINT"}}, {0: (0, 10)}, {0: 9})
    assert Plan.from_json(plan.to_json()) == plan
    account = Account(3, "noon", plan.columns, {0: Done(0, 10, 7, 2)})
    assert Account.from_json(account.to_json()) == account


def test_what_is_behind_is_counted_from_where_the_archive_began() -> None:
    account = Account(0, "", {}, {0: Done(3, 7)})
    assert account.behind({0: Progress(3, 9), 1: Progress(2, 5)}) == 2 + 3
