"""The table of paces."""

from __future__ import annotations

from scripts.bench_job.request_quota import Pace, markdown


def test_medians_of_a_broker_stand_in_its_row() -> None:
    found = {"Apache Kafka": [Pace(17, 0.5), Pace(18, 0.9), Pace(900, 0.99)], "pykbroker": [Pace(22.4, 0.981)]}
    assert markdown(found).splitlines()[-2:] == [
        "| Apache Kafka | 18 | 90.0% of the time |",
        "| pykbroker | 22 | 98.1% of the time |",
    ]
