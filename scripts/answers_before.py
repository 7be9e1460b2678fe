"""Compares the responses of this checkout with those of another, over the oracle's cases.

``python -m scripts.answers_before CHECKOUT``. Both run on this checkout's Python. Values that depend on the run are
normalized as for the oracle (compat_tests/oracle), so each difference comes from a change of the code. Only what both
serve is asked. Where the other checkout follows an earlier release of Kafka, ``--as-version`` leaves out what the later
one changed. Differences that are meant are in ``MEANT``, with their reasons, and counted; it exits with 1 if there are any others.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases import Case, all_cases
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.differences import Difference
from compat_tests.oracle.requests import Ask, NotInRelease
from compat_tests.releases.brokers import AsVersion
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from scripts.bench_job.brokers import make_pair

_SHARE = "The broker has share groups and streams groups, which it had not: their APIs and features are listed."
_ANSWERED = "Coordinators of share partitions are found; the version was refused."
_FINITE = "Since Kafka 4.4 quotas are finite numbers, whatever the release that the broker is taken for."
_TARGETS = "The target of a group whose last member leaves has its epoch, as since Kafka 4.4, whatever the release."
_LENGTHS = "Records whose lengths do not fit into their batch are refused, as in Apache Kafka (the oracle's case)."
#: What has changed on purpose since commits that are compared; ``kafka`` is what was answered before.
MEANT = (
    *(
        Difference("ApiVersions/what_is_served", f"*.api_keys.[{key}]", _SHARE, kafka="<missing>")
        for key in range(76, 93)
    ),
    Difference("ApiVersions/what_is_served", "*.finalized_features.[share.version]", _SHARE, kafka="<missing>"),
    Difference("ApiVersions/what_is_served", "*.finalized_features.[streams.version]", _SHARE, kafka="<missing>"),
    Difference("FindCoordinator/of_a_share_partition", "[0]", _ANSWERED, kafka="AssertionError: 15"),
    Difference("AlterClientQuotas/keys_and_values", "*.error_*", _FINITE),
    Difference("ConsumerGroup*/*", "*.assignment_epoch", _TARGETS),
    Difference("Produce/lengths_of_records_that_lie", "*.error_code", _LENGTHS, kafka=0, ours=87),
    Difference("Produce/lengths_of_records_that_lie", "*.base_offset", _LENGTHS),
)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m scripts.answers_before", description=__doc__)
    parser.add_argument("checkout", type=Path, help="another checkout of pykbroker (git worktree add)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their names")
    parser.add_argument("--as-version", metavar="RELEASE", help="the release that this checkout is taken for")
    given = parser.parse_args()
    reasons: Counter[str] = Counter()
    found = 0
    with tempfile.TemporaryDirectory(prefix="pykbroker-answers-") as folder:
        before, now = make_pair(Path(folder), before=given.checkout)
        if given.as_version:
            now = AsVersion(Path(folder) / "as-version", given.as_version, dict(now.settings))
        for name, why, text in differences(Path(folder), (before, now), given.only):
            if why is None:
                found += 1
                print(f"{name}: {text}", flush=True)
            else:
                reasons[why] += 1
    for why, times in reasons.items():
        print(f"{times} meant: {why}")
    print(f"{found} unexplained differences, {reasons.total()} meant")
    return 1 if found else 0


def differences(
    folder: Path, pair: tuple[BrokerProcess, BrokerProcess], only: str
) -> Iterator[tuple[str, str | None, str]]:
    """Yield each difference: its case and version, the reason if it is meant, and where it is; the earlier response comes first."""
    try:
        served = _start(pair)
        with ThreadPoolExecutor(len(pair)) as threads:
            for case in all_cases():
                for version in _versions(case, served) if only in case.name else ():
                    name = f"{case.name.replace('/', '.')}-v{version}"
                    answers = threads.map(lambda broker: _answers(broker.bootstrap, case, version, name, served), pair)  # noqa: B023
                    for each in divergences(*answers):
                        if not (str(folder) in str(each.kafka) and str(folder) in str(each.ours)):  # each has its own
                            why = next((of.why for of in MEANT if of.explains(case.name, each)), None)
                            yield name, why, f"{each.path}\n    before: {each.kafka!r}\n    now:    {each.ours!r}"
    finally:
        for broker in pair:
            broker.stop()


def _start(pair: tuple[BrokerProcess, BrokerProcess]) -> Mapping[int, range]:
    """The versions that both brokers serve, by API."""
    served: list[dict[int, range]] = []
    for broker in pair:
        broker.start()
        ask = Ask(broker.bootstrap, 0, "waiting")
        ask.wait_for_coordinators()
        keys = ask.quietly(ApiVersionsRequest(), 0).api_keys
        served.append({each.api_key: range(each.min_version, each.max_version + 1) for each in keys})
        ask.close()
    before, now = served
    return {
        key: range(max(before[key].start, now[key].start), min(before[key].stop, now[key].stop))
        for key in before.keys() & now.keys()
    }


def _versions(case: Case, served: Mapping[int, range]) -> list[int]:
    return [version for version in case.versions if version in served.get(case.api, ())]


def _answers(address: str, case: Case, version: int, name: str, served: Mapping[int, range]) -> list[object]:
    ask = Ask(address, version, name, {key: each.stop - 1 for key, each in served.items()})
    try:
        case.ask(ask)
    except NotInRelease:
        pass  # what was answered before is compared
    except Exception as error:  # noqa: BLE001 - a case that fails on one of them is a difference, too
        ask.answers.append(f"{type(error).__name__}: {error}")
    finally:
        ask.close()
    return ask.answers


if __name__ == "__main__":
    sys.exit(main())
