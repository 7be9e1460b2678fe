"""The same requests of the same users to Apache Kafka 4.4.0 and to pykbroker: without a right, with each alone, with all.

Every row of the table of what APIs ask (docs/security_operations.md) is asked by some case; what is answered must agree
field by field, as in the oracle.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.authorization.brokers import USERS, Addresses, AuthorizingKafka, AuthorizingPykbroker
from compat_tests.authorization.cases import Case, all_cases
from compat_tests.authorization.signing import ADMIN, SignedAsk
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.connection import Closed
from pykbroker.access.table import CHECKS
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest

#: The type of a transactional id, of which a coordinator is looked for.
TRANSACTIONS = 1

_RUNS = [(case, version) for case in all_cases() for version in case.versions]
#: Kafka says which object in its memory asked; what it needs is the same.
_WHO_ASKED = re.compile(r"Request .* needs (\w+) permission\.", re.DOTALL)
#: What differs, by case and path, and why.
_DIFFERENCES = (
    # A logger's refusal has no words in Kafka, which says them of all other resources.
    ("IncrementalAlterConfigs/settings_are_altered", re.compile(r"\[0\]\.responses\.\[1(#\d+)?\]\.error_message")),
)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses at which users sign in, of Apache Kafka and of pykbroker."""
    folder: Path = tmp_path_factory.mktemp("authorization")
    addresses = Addresses(), Addresses()
    running = AuthorizingKafka(folder / "kafka", addresses[0]), AuthorizingPykbroker(folder / "ours", addresses[1])
    try:
        for broker, address in zip(running, addresses, strict=True):
            broker.start()
            ask = SignedAsk(address.users, 0, "waiting", ADMIN)
            try:
                ask.wait_for_coordinators()
                for number in range(20):  # of every partition of the transactions' topic
                    ask.until_ready(FindCoordinatorRequest(f"waiting-{number}", TRANSACTIONS), 1)
            finally:
                ask.close()
        yield addresses[0].users, addresses[1].users
    finally:
        for broker in running:
            broker.stop()


#: Asked too, though they require no right.
FREE = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}

_users = itertools.cycle(USERS)


@pytest.mark.parametrize(("case", "version"), _RUNS, ids=[f"{case.name}-v{version}" for case, version in _RUNS])
def test_the_same_rights_have_the_same_answers(brokers: tuple[str, str], case: Case, version: int) -> None:
    user = next(_users)
    unexplained = []
    for number, rights in enumerate(case.given(version)):
        prefix = f"{case.name.replace('/', '.')}-v{version}-{number}"
        expected, seen = ([], [])
        for address, answers in zip(brokers, (expected, seen), strict=True):
            ask = SignedAsk(address, version, prefix, user)
            try:
                ask.allow(rights)
                case.ask(ask)
            except Closed:
                ask.keep("<connection closed>")
            finally:
                ask.take_away()
                ask.close()
            answers += _comparable(ask.answers)
        unexplained += [
            f"with {rights}: {found}"
            for found in divergences(expected, seen)
            if not any(case.name == name and path.fullmatch(found.path) for name, path in _DIFFERENCES)
        ]
    if unexplained:
        pytest.fail("\n".join([f"{len(unexplained)} differences:", *unexplained[:40]]), pytrace=False)


def test_every_api_of_the_table_is_asked() -> None:
    assert {case.api for case, _ in _RUNS} == {ApiKey(key) for key in CHECKS} | FREE


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _comparable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_comparable(inner) for inner in value]
    return _WHO_ASKED.sub(r"needs \1", value) if isinstance(value, str) else value
