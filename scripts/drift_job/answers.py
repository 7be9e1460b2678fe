"""Which of the oracle's questions two releases of Apache Kafka answer differently."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.cases import Case, all_cases
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.requests import Ask
from pykbroker.wire.messages.api_versions import ApiVersionsRequest

#: A change that is answered is seen after this long; what one release never does is not waited for longer.
_PATIENCE_S = 1.0


def lines(jar_sets: tuple[str, str]) -> Iterator[str]:
    """A line for each place in which the answers of the second release are not those of the first. Both are started, and asked each
    case at the highest version that both have.
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
        for case in all_cases():
            served = [version for version in case.versions if version <= shared.get(case.api, -1)]
            if served:
                yield from _differing([broker.bootstrap for broker in brokers], case, served[-1], shared)


def _differing(addresses: list[str], case: Case, version: int, shared: dict[int, int]) -> Iterator[str]:
    prefix = f"{case.name.replace('/', '.')}-v{version}"
    asked = [Ask(address, version, prefix, shared, _PATIENCE_S) for address in addresses]
    try:
        for ask in asked:
            case.ask(ask)
    except Exception as error:  # noqa: BLE001 - a case that ends early in one release is a finding, too
        yield f"{case.name} v{version}: {type(error).__name__}: {error}"
        return
    finally:
        for ask in asked:
            ask.close()
    before, after = (ask.answers for ask in asked)
    for found in divergences(before, after):
        yield f"{case.name} v{version} {found.path}: {found.kafka!r} is {found.ours!r}"


def _shared_versions(addresses: list[str]) -> dict[int, int]:
    found = []
    for address in addresses:
        ask = Ask(address, 3, "versions")
        answer = ask.quietly(ApiVersionsRequest("drift", "1"), 3)
        found.append({each.api_key: each.max_version for each in answer.api_keys})
        ask.close()
    return {key: min(version, found[1][key]) for key, version in found[0].items() if key in found[1]}
