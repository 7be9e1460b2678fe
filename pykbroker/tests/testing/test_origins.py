"""Where records came from, as the judge tells it."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from pykbroker.judge import Misjudged
from pykbroker.testing import Kafka


def test_a_finding_has_its_producer_transaction_and_requests() -> None:
    with Kafka() as kafka:
        kafka.create_topic("orders", 1)
        kafka.produce("orders", "1")
        kafka.create_topic("charges", 1)
        settings = {"bootstrap.servers": kafka.bootstrap_servers, "client.id": "payer", "transactional.id": "t"}
        for _ in range(2):
            producer = Producer(settings)
            producer.init_transactions(20)
            producer.begin_transaction()
            producer.produce("charges", b"1")
            producer.commit_transaction(20)
        with pytest.raises(Misjudged) as found:
            kafka.judge("orders", "charges")
    text = str(found.value)
    assert "doubled: b'1' (orders-0@0, charges-0@0, charges-0@2)" in text
    assert "charges-0@0 is of payer, producer 0, epoch 0, sequence 0, in a transaction of 't':" in text
    assert "charges-0@2 is of payer, producer 0, epoch 1, sequence 0, in a transaction of 't':" in text
    assert text.count("payer -> broker 1: EndTxn") == 2
    assert "orders-0@0 is of" not in text  # no client has written it


def test_what_no_client_has_written_has_no_origin() -> None:
    with Kafka() as kafka:
        kafka.produce("orders", "1")
        kafka.create_topic("charges", 1)
        with pytest.raises(Misjudged) as found:
            kafka.judge("orders", "charges")
        assert " is of " not in str(found.value)
