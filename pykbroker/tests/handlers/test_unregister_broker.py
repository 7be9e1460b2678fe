"""UnregisterBroker."""

from __future__ import annotations

import pytest

from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest


def test_a_broker_is_forgotten(broker):
    answer = broker.ask(UnregisterBrokerRequest(2), 0)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert list(broker.image.brokers) == [1]
    answer = broker.ask(UnregisterBrokerRequest(2), 0)
    assert (answer.error_code, answer.error_message) == (102, "Broker ID 2 is not currently registered")
    with pytest.raises(KafkaError, match="BROKER_ID_NOT_REGISTERED"):
        _ = broker.controller.allocate_producer_ids(2).value
