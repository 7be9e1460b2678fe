from __future__ import annotations

from pathlib import Path
from random import Random

from pykbroker.faults.chaos_catalogue import CATALOGUE, LONGEST_MS, PROFILES, table
from pykbroker.faults.fault import Fault
from pykbroker.handlers.table import SUPPORTED
from pykbroker.steered.chaos_means import RealMeans
from pykbroker.wire.apis import ApiKey

#: What no state of a broker speaks against: time, the end of a connection, a throttle, fewer records, an older image.
_LEGAL = {"api", "delay", "after", "close", "throttle", "truncate", "short", "stale"}


def test_every_outcome_is_legal_wherever_it_is_placed() -> None:
    """It makes up no error: it is time, the end of a connection, a throttle time where the answer has one, or done by real means."""
    for outcome in CATALOGUE:
        assert outcome.source
        assert outcome.client
        assert outcome.seen
        for served in SUPPORTED:
            for version in range(served.min_version, served.max_version + 1):
                if not outcome.befalls(served.key, version):
                    continue
                assert outcome.fault is not None
                fault = outcome.fault(Random(1))
                assert fault.error is None
                assert fault.as_json().keys() <= _LEGAL
                assert outcome.allows(fault)
    throttled = next(each for each in CATALOGUE if each.name == "throttled")
    assert not throttled.befalls(ApiKey.METADATA, 2)
    assert throttled.befalls(ApiKey.METADATA, 3)


def test_a_fault_of_another_kind_or_length_is_none_of_this_kind() -> None:
    slow = CATALOGUE[0]
    assert slow.allows(Fault(delay=LONGEST_MS))
    assert not slow.allows(Fault(delay=LONGEST_MS + 1))
    assert not slow.allows(Fault(delay=5, after=True))
    assert not slow.allows(Fault("Produce", delay=5))
    assert not any(each.allows(Fault(error="UNKNOWN_SERVER_ERROR")) for each in CATALOGUE)


def test_profiles_are_those_of_the_kinds_and_everything() -> None:
    assert set(PROFILES) == {
        *("everything", "network", "slow-network", "overload", "elections", "rolling-restart", "broker-down"),
        *("sessions", "retention", "clocks", "operators"),
    }


def test_what_loses_records_befalls_only_who_asks_for_it() -> None:
    losing = [each for each in CATALOGUE if each.name in ("topic made again", "unclean election")]
    for each in losing:
        assert [profile for profile in PROFILES if each.is_in(profile)] == ["operators"]
    assert all(each.is_in("everything") for each in CATALOGUE if each not in losing)


def test_what_befalls_the_cluster_has_means() -> None:
    means = RealMeans(None, lambda *_: ())  # type: ignore[arg-type]
    assert list(means.names) == [each.name for each in CATALOGUE if each.fault is None]


def test_the_page_has_the_catalogue() -> None:
    """Else put in what `python -m pykbroker.faults.chaos_catalogue` prints."""
    page = Path(__file__).parents[3] / "docs" / "faults.md"
    assert table() in page.read_text()
