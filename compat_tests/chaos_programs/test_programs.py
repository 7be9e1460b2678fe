"""Programs that are written correctly lose and double nothing under chaos: two seeds here, 500 each with PYKBROKER_LONG=1."""

from __future__ import annotations

import shutil

import pytest
from confluent_kafka import Producer

from compat_tests.chaos_programs.programs import PROGRAMS
from compat_tests.chaos_programs.shop import ORDERS, judged, running, runs
from compat_tests.conftest import LONG
from pykbroker.testing import Kafka

#: Their clients have faults of their own, which some lives in hundreds meet (docs/faults.md): a seed with a finding is lived three times more.
OWN_FAULTS = {"aiokafka", "java-streams", "librdkafka-classic", "librdkafka-consumer"}

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_judge_finds_nothing(name: str) -> None:
    if name == "franz-go" and shutil.which("go") is None:
        pytest.skip("Go is not installed")
    with running(name) as program:
        lived = list(runs(program, range(1, 501 if LONG else 3), at_once=6 if LONG else 2))
        found = [each for each in lived if each.found]
        if name in OWN_FAULTS:
            print(*found, sep="\n")
            found = [again for again in runs(program, [each.seed for each in found] * 3, at_once=1) if again.found]
    assert found == []
    assert all(each.befell for each in lived)


def test_what_an_open_transaction_hides_is_not_lost() -> None:
    """The judge waits until the time of the transaction of a payer that is gone is over."""
    with Kafka({"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}) as kafka:
        for topic in ("orders", "charges", "receipts"):
            kafka.create_topic(topic, 2)
        gone = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "gone", "transaction.timeout.ms": 1000}
        )
        gone.init_transactions(30)
        gone.begin_transaction()
        gone.produce("receipts", b"charged twice", partition=0)
        gone.flush(30)
        for number in range(ORDERS):
            for topic in ("orders", "charges", "receipts"):
                kafka.produce(topic, b"order %d" % number, key=b"k%d" % (number % 5), partition=0)
        assert judged(kafka, "exactly-once") == ""
