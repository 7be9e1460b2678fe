"""AlterClientQuotas and DescribeClientQuotas."""

from __future__ import annotations

import socket

from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages import alter_client_quotas as quotas
from pykbroker.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

RATE = "producer_byte_rate"


def set_quota(broker, key=RATE, value=8.0, *, remove=False, validate_only=False, **entity):
    parts = [quotas.EntityData(kind.replace("_", "-"), name) for kind, name in entity.items()]
    entry = quotas.AlterClientQuotasRequestEntryData(parts, [quotas.OpData(key, value, remove)])
    (result,) = broker.ask(quotas.AlterClientQuotasRequest([entry], validate_only), 1).entries
    assert sorted((p.entity_type, p.entity_name) for p in result.entity) == sorted(
        (p.entity_type, p.entity_name) for p in parts
    )
    return result.error_code, result.error_message


def find(broker, *components, version=1):
    request = DescribeClientQuotasRequest([ComponentData(*component) for component in components])
    return broker.ask(request, version)


def test_quotas(broker):
    assert set_quota(broker, user="u", client_id=None) == (0, None)
    assert set_quota(broker, user="v", validate_only=True) == (0, None)
    assert set_quota(broker, "no_such_rate", user="u") == (42, "Invalid configuration key no_such_rate")
    for version in (0, 1):
        (entry,) = find(broker, version=version).entries
        assert [(part.entity_type, part.entity_name) for part in entry.entity] == [("client-id", None), ("user", "u")]
        assert [(value.key, value.value) for value in entry.values] == [(RATE, 8.0)]
    assert set_quota(broker, remove=True, user="u", client_id=None) == (0, None)
    assert find(broker).entries == []


def test_a_filter_that_means_nothing(broker):
    answer = find(broker, ("group", 0, "g"))
    assert (answer.error_code, answer.error_message, answer.entries) == (35, "Unsupported entity type group", None)


def test_hosts_are_looked_up_elsewhere(broker, monkeypatch):
    asked = set()

    def look_up(name, *_):
        asked.add(name)
        if name != "there":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    threads = broker.hold_threads()
    rate = "connection_creation_rate"
    entries = [
        quotas.AlterClientQuotasRequestEntryData([quotas.EntityData("ip", name)], [quotas.OpData(rate, 1.0, False)])
        for name in ("10.0.0.1", "there", "nowhere", None)
    ]
    answer = broker.post(quotas.AlterClientQuotasRequest(entries, False), 1)
    assert (asked, answer.done) == (set(), False)
    threads.run_all()
    assert asked == {"there", "nowhere"}
    assert [entry.error_code for entry in answer.value.entries] == [0, 0, 42, 0]
    assert len(broker.image.client_quotas) == 3


def test_a_quota_of_a_host_that_cannot_be_kept(broker):
    entity = [quotas.EntityData("ip", "localhost")]
    ops = [quotas.OpData("connection_creation_rate", 1.0, False)]
    request = quotas.AlterClientQuotasRequest([quotas.AlterClientQuotasRequestEntryData(entity, ops)], False)
    with broker.full_disk():
        (entry,) = broker.ask(request, 1).entries
        assert entry.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert set_quota(broker, user="u")[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.image.client_quotas == {}
