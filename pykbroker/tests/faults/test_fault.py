"""Rules as values: the same in Python, text and JSON; and those that cannot act are refused with what to write instead."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.faults import checks
from pykbroker.faults.book import FaultBook, UnknownRule
from pykbroker.faults.durations import as_text, milliseconds
from pykbroker.faults.fault import BadFault, Fault
from pykbroker.wire.errors import ErrorCode

NAMES = st.text(min_size=1, max_size=12).filter(lambda text: "\0" not in text)
NUMBERS = st.integers(0, 2**31 - 1)
ACTIONS = st.one_of(
    st.fixed_dictionaries({"error": st.sampled_from([code.name for code in ErrorCode if code])}),
    st.fixed_dictionaries({"delay": NUMBERS}),
    st.fixed_dictionaries({"throttle": NUMBERS, "delay": NUMBERS}),
    st.fixed_dictionaries({"truncate": NUMBERS}),
    st.sampled_from([{"drop": True, "after": True}, {"close": True}, {"duplicate": True}, {"hold": True}]),
)
WHO = st.fixed_dictionaries(
    {}, optional={"client": NAMES, "principal": NAMES, "listener": NAMES, "broker": NUMBERS, "nth": st.integers(1, 99)}
)
WHAT = st.sampled_from(
    [{}, {"api": "Produce", "topic": "t", "partition": 3}, {"api": "OffsetFetch", "group": "g *", "version": "8+"}]
)
FAULTS = st.builds(lambda action, who, what: Fault(**action, **who, **what), ACTIONS, WHO, WHAT)


@given(FAULTS)
def test_what_is_printed_is_parsed_to_the_same(fault: Fault) -> None:
    assert Fault.parse(str(fault)) == fault
    assert Fault.from_json(json.loads(json.dumps(fault.as_json()))) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("produce topic=t error=not_leader_or_follower times=1",
         Fault("Produce", topic="t", error="NOT_LEADER_OR_FOLLOWER", times=1)),
        ("OFFSET_COMMIT group='my group' delay=1.5s", Fault("OffsetCommit", group="my group", delay=1500)),
        ("* broker=2 close after", Fault(broker=2, close=True, after=True)),
        ("Fetch version=7-12 corrupt probability=0.5 seed=7",
         Fault("Fetch", version="7-12", corrupt=True, probability=0.5, seed=7)),
    ],
)  # fmt: skip
def test_text_as_people_write_it(text: str, fault: Fault) -> None:
    assert Fault.parse(text) == fault


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "begins with an API"),
        ("Prodce drop", "did you mean Produce"),
        ("Vote drop", "is not an API that is served"),
        ("Produce", "the fault has no action; write one of error"),
        ("Produce eror=X", "did you mean error"),
        ("Produce error=NOT_LEADER", "did you mean NOT_LEADER_OR_FOLLOWER"),
        ("Produce error=NONE", "not an error"),
        ("Produce drop close", "contradict each other"),
        ("Produce drop=yes", "write drop alone"),
        ("Produce error", "error needs a value"),
        ("Heartbeat topic=t drop", "Heartbeat requests name no topic; leave topic out"),
        ("Metadata partition=1 drop", "name no partition"),
        ("Produce group=g drop", "name no group"),
        ("Produce partition=-1 drop", "from 0 on"),
        ("Produce times=0 drop", "from 1 on"),
        ("Produce times=x drop", "is not a number"),
        ("Produce probability=0 drop", "above 0 and up to 1"),
        ("Produce probability=2 drop", "above 0 and up to 1"),
        ("Produce seed=1 drop", "write probability too"),
        ("Produce delay=fast", "500ms or 45s"),
        ("Produce delay=-1s", "500ms or 45s"),
        ("Produce version=99 drop", "Produce is served in 3-13"),
        ("Produce version=9-3 drop", "not a range"),
        (f"Produce version={'9' * 5000} drop", "not a range"),
        ("Produce corrupt", "acts on Fetch only"),
        ("Fetch stale", "acts on Metadata only"),
        ("Produce at=top error=REQUEST_TIMED_OUT", "write at=partition"),
        ("OffsetFetch version=8+ at=top error=NOT_COORDINATOR", "no error at top"),
        ("Produce at=middle error=REQUEST_TIMED_OUT", "is not a level"),
        ("Produce at=partition drop", "write error too"),
        ("SaslHandshake throttle=1s", "write delay instead"),
        ("Heartbeat version=0 throttle=1s", "write delay instead"),
        ("Fetch throttle=25d", "answers have room for 2147483647"),
        ("Fetch delay=36501d", "at most 36500d"),
        ("Fetch delay=" + "9" * 400 + "d", "at most 36500d"),
        ("Produce truncate=3 after", "after does not go with truncate"),
        ("Produce delay=1s drop after", "make a rule of each"),
        ("Produce hold times=1", "leave times and probability out"),
        ("Produce topic=t topic=u drop", "given twice"),
        ("Produce topic='t drop", "close the quotes"),
    ],
)  # fmt: skip
def test_what_cannot_act_is_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(BadFault) as refused:
        Fault.parse(text)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "words",
    [
        {"delay": 10**400},
        {"delay": 1e300},
        {"delay": float("nan")},
        {"times": True},
        {"times": 1.5},
        {"topic": 3},
        {"topic": ""},
        {"api": 3},
        {"delay": True},
    ],
)
def test_values_of_another_kind_are_refused(words: dict[str, object]) -> None:
    with pytest.raises(BadFault):
        Fault(**{"api": "Produce", "drop": True, **words})  # type: ignore[arg-type]


@pytest.mark.parametrize("api", checks.rows())
def test_every_api_can_be_refused_and_kept_waiting(api: str) -> None:
    assert Fault(api, error="UNKNOWN_SERVER_ERROR", delay="1s").api == api


@given(st.integers(0, 36_500 * 86_400_000))
def test_durations_round_trip(ms: int) -> None:
    assert milliseconds(as_text(ms)) == ms == milliseconds(ms)


# ---- when a rule acts ----------------------------------------------------------------------------------------------------


@given(st.integers(1, 10) | st.none(), st.integers(1, 10) | st.none(), st.integers(0, 30))
def test_times_and_nth_count_requests_that_match(times: int | None, nth: int | None, requests: int) -> None:
    rule = FaultBook().add(Fault(drop=True, times=times, nth=nth))
    acted = [rule.acts() for _ in range(requests)]
    first = (nth or 1) - 1
    expected = [index >= first and (times is None or index < first + times) for index in range(requests)]
    assert acted == expected
    assert rule.fired == sum(expected)


@given(st.integers(0, 2**32), st.floats(0.05, 1))
def test_a_seeded_chance_falls_the_same_each_time(seed: int, chance: float) -> None:
    fault = Fault(drop=True, probability=chance, seed=seed)
    one, other = (FaultBook().add(fault) for _ in range(2))
    assert [one.acts() for _ in range(50)] == [other.acts() for _ in range(50)]
    assert one.matched == 50


def test_a_chance_is_near_its_probability() -> None:
    rule = FaultBook().add(Fault(drop=True, probability=0.25, seed=1))
    assert 200 < sum(rule.acts() for _ in range(1000)) < 300


def test_a_rule_that_is_not_there_is_told_with_those_that_are() -> None:
    book = FaultBook()
    book.add(Fault(drop=True))
    with pytest.raises(UnknownRule, match="no rule 7; these are: 1"):
        book.remove(7)
