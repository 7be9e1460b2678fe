"""Leader epochs and where they begin: what is noted, what is dropped, and when the checkpoint is behind."""

from __future__ import annotations

import pytest

from pykbroker.storage.log.epochs import LeaderEpochs

ENTRIES = [(2, 10), (4, 20), (7, 30)]


@pytest.fixture
def epochs() -> LeaderEpochs:
    return LeaderEpochs(ENTRIES)


def test_what_a_checkpoint_said_is_not_new(epochs):
    assert not epochs.changed
    assert epochs.entries() == ENTRIES
    assert epochs.latest == 7


@pytest.mark.parametrize(
    ("epoch", "start", "left"),
    [
        (8, 40, [*ENTRIES, (8, 40)]),
        (7, 25, [(2, 10), (4, 20), (7, 25)]),
        (8, 30, [(2, 10), (4, 20), (8, 30)]),
        (8, 20, [(2, 10), (8, 20)]),
        (4, 40, [(2, 10), (4, 40)]),
        (1, 5, [(1, 5)]),
    ],
)
def test_a_new_epoch_drops_what_contradicts_it(epochs, epoch: int, start: int, left: list) -> None:
    epochs.assign(epoch, start)
    assert epochs.entries() == left
    assert epochs.changed


@pytest.mark.parametrize(("epoch", "start"), [(7, 30), (7, 31), (-1, 50)])
def test_a_repeat_changes_nothing(epochs, epoch: int, start: int) -> None:
    epochs.assign(epoch, start)
    assert epochs.entries() == ENTRIES
    assert not epochs.changed


@pytest.mark.parametrize(("end", "left"), [(31, ENTRIES), (30, ENTRIES[:2]), (20, ENTRIES[:1]), (10, [])])
def test_the_end_is_cut(epochs, end: int, left: list) -> None:
    epochs.truncate_end(end)
    assert epochs.entries() == left
    assert epochs.changed == (left != ENTRIES)


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (9, ENTRIES),
        (10, ENTRIES),
        (11, [(2, 11), *ENTRIES[1:]]),
        (20, ENTRIES[1:]),
        (29, [(4, 29), (7, 30)]),
        (99, [(7, 99)]),
    ],
)
def test_the_start_is_cut(epochs, start: int, left: list) -> None:
    epochs.truncate_start(start)
    assert epochs.entries() == left
    assert epochs.changed == (left != ENTRIES)


@pytest.mark.parametrize(
    ("epoch", "end"),
    [(-1, (-1, -1)), (1, (1, 10)), (2, (2, 20)), (3, (2, 20)), (4, (4, 30)), (7, (7, 50)), (8, (-1, -1))],
)
def test_where_an_epoch_ended(epochs, epoch: int, end: tuple[int, int]) -> None:
    assert epochs.end_offset(epoch, 50) == end


@pytest.mark.parametrize(("offset", "epoch"), [(9, -1), (10, 2), (19, 2), (20, 4), (30, 7), (99, 7)])
def test_the_epoch_of_an_offset(epochs, offset: int, epoch: int) -> None:
    assert epochs.epoch_at(offset) == epoch
