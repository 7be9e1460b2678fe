from __future__ import annotations

import pytest

from pykbroker.judge import Misjudged
from pykbroker.testing import Kafka


def test_a_test_judges_topics_and_effects() -> None:
    with Kafka(seed={"topics": {"orders": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]}}) as kafka:
        kafka.produce("charges", "2", key="a")
        kafka.judge("orders", effects=[b"1", b"2"])
        kafka.judge("orders", "charges", guarantee="at-most-once")
        with pytest.raises(Misjudged, match=r"lost: b'1' \(orders-0@0\)"):
            kafka.judge("orders", "charges")
        kafka.produce("charges", "1", key="a")
        with pytest.raises(Misjudged, match="out of order"):
            kafka.judge("orders", "charges", in_order=True)
        with pytest.raises(LookupError):
            kafka.judge("orders", "nothing")
