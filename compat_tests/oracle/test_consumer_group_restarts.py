"""Scenarios of consumer groups in which pykbroker is restarted before every third request, with PYKBROKER_LONG before each: the answers stay
Apache Kafka's.

Every second restart is a kill. Apache Kafka is not restarted: what it answers in one go is what must be answered here out
of the log. Left out are scenarios in which a classic group rebalances: that is in no log, there either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compat_tests.conftest import LONG
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.cases import Case, all_cases
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.connection import Connection
from compat_tests.oracle.judgement import answers
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.message import Message

_REBALANCES = {
    "up_and_down",
    "static_members_that_change_protocol",
    "a_classic_group_in_the_middle_of_a_rebalance",
    "classic_groups_that_cannot_become_consumer_groups",
}
_CASES = [
    case
    for case in all_cases()
    if case.api == ApiKey.CONSUMER_GROUP_HEARTBEAT and case.ask.__name__ not in _REBALANCES and case.versions[-1] == 1
]


#: Requests from one restart to the next.
_BETWEEN = 1 if LONG else 3


class RestartingAsk(Ask):
    """Restarts the broker before the first request whose answer is kept, and then before each _BETWEEN-th."""

    def __init__(self, broker: Pykbroker, version: int, prefix: str) -> None:
        super().__init__(broker.bootstrap, version, prefix)
        self._broker = broker
        self._sent = 0

    def send(self, request: Message, version: int | None = None) -> tuple[Connection, int, int, int]:
        restarts, since = divmod(self._sent, _BETWEEN)
        self._sent += 1
        if since == 0:
            if restarts % 2:
                self._broker.kill()
            else:
                self._broker.stop()
            self._broker.start()
            self.connection = self.connect()
            self.wait_for_coordinators()
        return super().send(request, version)


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pykbroker]:
    broker = Pykbroker(tmp_path_factory.mktemp("restarted"))
    broker.start()
    yield broker
    broker.stop()


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.ask.__name__)
def test_same_answers_out_of_the_log(kafka: ApacheKafka, restarted: Pykbroker, case: Case) -> None:
    prefix = f"restarts.{case.ask.__name__}"
    for broker in (kafka, restarted):
        waiting = Ask(broker.bootstrap, 0, "waiting")
        waiting.wait_for_coordinators()
        waiting.close()
    expected: list[Any] = answers(Ask(kafka.bootstrap, 1, prefix), case)
    seen = answers(RestartingAsk(restarted, 1, prefix), case)
    found = [str(difference) for difference in divergences(expected, seen)]
    if found:
        pytest.fail("\n".join([f"{len(found)} differences:", *found[:40]]), pytrace=False)
