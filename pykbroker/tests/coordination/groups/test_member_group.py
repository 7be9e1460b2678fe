"""Names that members count up and down, without a line for each."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.coordination.groups.member_group import count_down, names_after
from pykbroker.tests.kit.turns import counted

_NAMES = st.frozensets(st.sampled_from("abcdef"))


@given(st.lists(_NAMES, min_size=1))
def test_names_of_a_member_that_is_gone_are_counted_down(members: list[frozenset[str]]) -> None:
    counts: Counter[str] = Counter()
    for names in members:
        counts.update(names)
    gone, *left = members
    count_down(counts, gone)
    assert dict(counts) == dict(Counter(name for names in left for name in names))


@given(st.lists(_NAMES), st.integers(0, 3), _NAMES)
def test_names_after_members_change_are_those_that_are_still_counted(
    members: list[frozenset[str]], count: int, after: frozenset[str]
) -> None:
    counts: Counter[str] = Counter()
    for names in members:
        counts.update(names)
    before, left = members[:count], members[count:]
    assert names_after(counts, before, after) == after.union(*left)


def test_names_of_who_was_not_counted_are_no_loss() -> None:
    assert names_after(Counter("ab"), ["xy"], "z") == set("abz")


def test_no_name_takes_a_line() -> None:
    names = frozenset(map(str, range(1000)))
    counts = Counter([*names, *names])
    with counted() as lines:
        assert names_after(counts, [names]) == names
        count_down(counts, names)
        count_down(counts, names)
    assert not counts
    assert lines[0] < len(names) // 2
