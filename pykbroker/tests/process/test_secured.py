"""Several brokers of one process: what is altered of a listener is so for the broker that was named, and no other; a store is told of once."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from pykbroker.process.life import Life
from pykbroker.process.secured import SecuredListeners
from pykbroker.runtime.clock import ManualClock
from pykbroker.security.ready_made import ReadyMade
from pykbroker.tests.kit.certificates import HOSTS, authority, now_ms, with_small_key, written
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.secured import SecuredNode, client_context, secured_node, tls_settings
from pykbroker.tests.network.test_tls import LOCATION, alter, serial_of
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

NOW_MS = now_ms()


async def serials(node: SecuredNode) -> tuple[str, str]:
    """The certificates that new clients of the brokers 1 and 2 are shown."""
    shown = []
    for broker in (1, 2):
        talk = await node.connect("SSL", client_context(), broker)
        shown.append(serial_of(talk))
        talk.close()
    return shown[0], shown[1]


def test_stores_are_each_brokers_own(tmp_path: Path) -> None:
    new = written(tmp_path, "new.pem", authority().issue("localhost", now_ms(), hosts=HOSTS).pem)
    other = written(tmp_path, "other.pem", authority().issue("other", now_ms(), hosts=HOSTS).pem)

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path), brokers=2) as node:
            first, second = [await node.connect("PLAINTEXT", broker=broker) for broker in (1, 2)]
            begun, also_begun = await serials(node)
            assert begun == also_begun
            assert await alter(second, {LOCATION: other}, "2") == 42
            assert await alter(second, {LOCATION: new}, "2") == 0
            altered = (await serials(node))[1]
            assert await serials(node) == (begun, altered)
            assert altered != begun
            assert await alter(first, {LOCATION: new}, "1") == 0
            assert await serials(node) == (altered, altered)
            assert await alter(first, {LOCATION: None}, "1") == 0
            assert await serials(node) == (begun, altered)
            first.close()
            second.close()
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path), brokers=2) as node:
            assert await serials(node) == (begun, altered)

    asyncio.run(scenario())


def test_certificates_are_renewed_while_it_runs(tmp_path: Path) -> None:
    """Of the listeners that are named, of every broker, for new connections; what is altered besides stays."""
    made = [ready_made(), ready_made()]
    first, second = (each.key_store(days) for each, days in zip(made, (1.0, 2.0), strict=True))
    at_hand: list[dict[str, str]] = []
    rules = "listener.name.ssl.ssl.principal.mapping.rules"
    named = "listener.name.ssl."

    async def scenario() -> None:
        clock = ManualClock()
        settings = {f"{named}{name}": value for name, value in first.items()} | {"connections.max.idle.ms": "-1"}
        async with secured_node(tmp_path, {"SSL": "SSL"}, settings, clock, brokers=2) as node:
            node.node.renew_certificates(lambda: at_hand.pop() if at_hand else {})
            begun, ends = await serials(node), node.node.certificates_end(1)["SSL"]
            open_one, plain = await node.connect("SSL", client_context(), 1), await node.connect("PLAINTEXT")

            def an_hour_later() -> None:
                clock.advance(3_600_000)
                node.node.cluster.runtime.timers.run_due()

            an_hour_later()
            assert await serials(node) == begun
            at_hand.append({f"{named}{name}": value for name, value in second.items()})
            assert await serials(node) == begun
            an_hour_later()
            renewed = await serials(node)
            assert not set(renewed) & set(begun)
            assert [node.node.certificates_end(broker)["SSL"] - ends for broker in (1, 2)] == [86400, 86400]
            assert await alter(plain, {rules: "DEFAULT"}, "1") == 0
            assert await serials(node) == renewed
            assert await open_one.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
            open_one.close()
            plain.close()

    asyncio.run(scenario())


def ready_made() -> ReadyMade:
    return ReadyMade("ssl", {"alice": "a"}, lambda: NOW_MS, authority=authority())


def test_a_store_that_others_may_read_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = tls_settings(tmp_path)
    store = Path(settings["ssl.keystore.location"])
    store.chmod(0o644)

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL", "MORE": "SSL"}, settings, brokers=2) as node:
            talk = await node.connect("PLAINTEXT")
            assert await alter(talk, {LOCATION: str(store)}, "1") == 0
            talk.close()

    asyncio.run(scenario())
    assert (
        len([record for record in caplog.records if f"{store} holds a private key and is" in record.getMessage()]) == 1
    )


def test_a_metadata_log_that_others_may_read_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> str:
        async with secured_node(tmp_path, {"SSL": "SSL", "MORE": "SSL"}, tls_settings(tmp_path), brokers=2) as node:
            return str(node.node.cluster.logs.metadata_directory.path)

    Path(asyncio.run(scenario()), "__cluster_metadata-0").chmod(0o755)
    asyncio.run(scenario())
    assert (
        sum(
            "__cluster_metadata-0 holds credentials of SCRAM, and passw" in each.getMessage() for each in caplog.records
        )
        == 1
    )


def test_a_weak_certificate_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = tls_settings(tmp_path) | {"ssl.keystore.location": written(tmp_path, "weak.pem", with_small_key().pem)}

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL", "MORE": "SSL"}, settings, brokers=2):
            pass

    asyncio.run(scenario())
    assert ["weak.pem holds a weak certificate" in record.message for record in caplog.records].count(True) == 1


def test_suites_that_are_offered_besides_are_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    suite = "TLS_AES_256_GCM_SHA384"
    settings = tls_settings(tmp_path) | {"ssl.cipher.suites": suite}

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, settings, brokers=2):
            pass

    asyncio.run(scenario())
    told = [each.getMessage() for each in caplog.records if "cannot be chosen one by one" in each.getMessage()]
    assert bool(told) != hasattr(ssl.SSLContext, "set_ciphersuites")
    assert all("Listener SSL offers TLS_" in line and suite not in line for line in told)


def test_a_cluster_that_was_left_alters_nothing() -> None:
    """Its last change may be under way when the process begins anew."""
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
    former, present = [
        MemoryCluster(
            listeners="SASL://127.0.0.1:0,IN://127.0.0.1:0",
            listener_security_protocol_map="SASL:SASL_PLAINTEXT,IN:PLAINTEXT",
            inter_broker_listener_name="IN",
            sasl_enabled_mechanisms="PLAIN",
            listener_name_sasl_plain_sasl_jaas_config=jaas,
        )
        for _ in range(2)
    ]
    secured = SecuredListeners(present.cluster.config, lambda: present.cluster, [1])
    life = Life(former.cluster)
    secured.follow(life)
    life.end(followed=True)
    secured.follow(Life(present.cluster))
    admission = secured.admission(1, "SASL")
    assert admission is not None
    begun = admission.settings
    entry = AlterableConfig("listener.name.sasl.plain.sasl.jaas.config", 0, jaas.replace("alice", "bob"))
    change = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "1", [entry])])
    for world, alters in ((former, False), (present, True)):
        (answer,) = world.ask(change, 1).responses
        assert answer.error_code == 0
        assert (admission.settings is not begun) == alters
