"""The lines that Testcontainers' modules wait for, by their expressions."""

from __future__ import annotations

import re

from pykbroker.container.announced import lines


def test_every_broker_says_all_that_is_waited_for() -> None:
    said = list(lines([1, 2], "2026-01-31 14:00:00,123"))
    for awaited in (
        r".*Transitioning from RECOVERY to RUNNING.*",
        r".*Kafka Server started.*",
        r".*\[KafkaServer id=\d+\] started.*",
    ):
        assert len([line for line in said if re.fullmatch(awaited, line)]) == 2
    assert said[0].startswith("[2026-01-31 14:00:00,123] INFO [BrokerLifecycleManager id=1] ")
