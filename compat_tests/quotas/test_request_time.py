"""request_percentage beside Apache Kafka: a client that asks without a pause is told to wait, and its connection is muted for as long.

No rate is compared, which is the machine's; ``scripts/bench --request-quota`` prints both. A mute is known by what it takes at least.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.quotas.request_time import allow, answers

ANSWERS: Final = 20
#: Of a client that was not told to wait so often in so many answers, the quota does not hold.
MOST: Final = 300_000
#: quota.window.size.seconds.
WINDOW_MS: Final = 1000


@pytest.mark.parametrize("broker", ["kafka", "pykbroker"])
def test_a_client_above_its_share_is_told_to_wait_and_muted(broker: str, request: pytest.FixtureRequest) -> None:
    place: BrokerProcess = request.getfixturevalue(broker)
    allow(place.bootstrap, "busy", 1)
    try:
        asked = islice(answers(place.bootstrap, "busy"), MOST)
        found = list(islice((each for each in asked if each.before_ms), ANSWERS))
        assert len(found) == ANSWERS
        assert max(each.before_ms for each in found) <= WINDOW_MS
        assert [each for each in found if each.since_ms < each.before_ms - 1] == []  # what is told is rounded
        assert not any(each.announced_ms for each in islice(answers(place.bootstrap, "other"), 1000))
    finally:
        allow(place.bootstrap, "busy", None)
