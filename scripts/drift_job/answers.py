"""Which of the oracle's questions two releases of Apache Kafka answer differently."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.cases import Case, all_cases
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.differences import STARTED_OTHERWISE
from compat_tests.oracle.requests import Ask
from pykbroker.wire.messages.api_versions import ApiVersionsRequest

#: A change that is answered is seen after this long; what one release never does is not waited for longer.
_PATIENCE_S = 1.0
#: Characters of an error that are shown.
_LONGEST = 200
#: The field at the end of a path, in which the names of elements are in brackets.
_FIELD = re.compile(r"(\[[^\]]*\]|[^.\[\]]+)$")


def lines(jar_sets: tuple[str, str]) -> Iterator[str]:
    """A line for each place in which the answers of the second release are not those of the first; what changes alike in many places has one
    line, and their number at the end. Both are started, and asked each case at the highest version that both have.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        brokers = []
        for jar_set in jar_sets:
            broker = ApacheKafka(folder / jar_set)
            broker.jars = jar_set
            stack.callback(broker.stop)
            broker.start()
            brokers.append(broker)
        shared = _shared_versions([broker.bootstrap for broker in brokers])
        for broker in brokers:
            waiting = Ask(broker.bootstrap, 0, "waiting", shared)
            waiting.wait_for_coordinators()
            waiting.close()
        asked = ((case, [each for each in case.versions if each <= shared.get(case.api, -1)]) for case in all_cases())
        addresses = [broker.bootstrap for broker in brokers]
        yield from once(
            change for case, served in asked if served for change in _differing(addresses, case, served[-1], shared)
        )


class Change(NamedTuple):
    """A place in an answer, and what it was and is; None for a case that could not be asked of both."""

    case: str
    path: str
    values: tuple[str, str] | None

    def __str__(self) -> str:
        return f"{self.case} {self.path}" + (f": {self.values[0]} is {self.values[1]}" if self.values else "")


def once(changes: Iterable[Change]) -> Iterator[str]:
    """A line for the first of changes that are alike: in the same field, from the same value to the same; then how many more there were."""
    more: Counter[tuple[str, tuple[str, str] | None]] = Counter()
    for change in changes:
        field = "" if change.values is None else _FIELD.findall(change.path)[-1]
        alike = (field, change.values)
        if change.values is None or alike not in more:
            yield str(change)
        more[alike] += 1
    for (field, values), count in more.items():
        if values is not None and count > 1:
            yield f"{count - 1} more times {field}: {values[0]} is {values[1]}"


def _differing(addresses: list[str], case: Case, version: int, shared: dict[int, int]) -> Iterator[Change]:
    prefix = f"{case.name.replace('/', '.')}-v{version}"
    asked = [Ask(address, version, prefix, shared, _PATIENCE_S) for address in addresses]
    try:
        for ask in asked:
            case.ask(ask)
    except Exception as error:  # noqa: BLE001 - a case that ends early in one release is a finding, too
        yield Change(f"{case.name} v{version}", f"{type(error).__name__}: {str(error)[:_LONGEST]}", None)
        return
    finally:
        for ask in asked:
            ask.close()
    before, after = (ask.answers for ask in asked)
    for found in divergences(before, after):
        if not _of_this_run(case.name, found.path):
            yield Change(f"{case.name} v{version}", found.path, (repr(found.kafka), repr(found.ours)))


def _of_this_run(case: str, path: str) -> bool:
    """Whether two brokers of one release differ there, too: how they were started, and the ids of their clusters."""
    started = case == "DescribeConfigs/every_setting_of_a_broker" and any(
        f".configs.[{name}]." in path for name in STARTED_OTHERWISE
    )
    return (
        started or path.endswith(".configs.[log.dirs].value") or ("RaftVoter/" in case and path == "[1].error_message")
    )


def _shared_versions(addresses: list[str]) -> dict[int, int]:
    found = []
    for address in addresses:
        ask = Ask(address, 3, "versions")
        answer = ask.quietly(ApiVersionsRequest("drift", "1"), 3)
        found.append({each.api_key: each.max_version for each in answer.api_keys})
        ask.close()
    return {key: min(version, found[1][key]) for key, version in found[0].items() if key in found[1]}
