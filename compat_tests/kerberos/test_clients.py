"""Stock clients that have a key table or a ticket: Java's, librdkafka (kcat: wheels of confluent-kafka have no GSSAPI), Python's."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
from pathlib import Path

import aiokafka
import kafka
import pytest

from compat_tests.harness.java_cases import JavaCases, wanted_cases
from compat_tests.kerberos.brokers import LISTENERS, Listeners
from pykbroker.tests.kit.kerberos import REALM, Realm, needs_kerberos

pytestmark = needs_kerberos
RECORD = b"x" * 100_000
JAVA = JavaCases(Path(__file__).with_name("KerberosCases.java"), "kafka")
KCAT = shutil.which("kcat")
#: What Cyrus SASL, of which librdkafka makes use, needs of its own.
PLUGIN = next(Path("/usr/lib").glob("*/sasl2/libgssapiv2.so"), None)


@pytest.fixture(scope="module")
def java(realm: Realm, listeners: Listeners) -> dict[str, str]:
    """What its cases are told."""
    jaas = realm.jaas(realm.principal("java"), "java")
    return {
        "KERBEROS_JAAS": jaas,
        "KERBEROS_SHORT": listeners.address("SHORT"),
        "KERBEROS_ENCRYPTED": listeners.address("ENCRYPTED"),
        "KERBEROS_AUTHORITY": str(listeners.authority),
    }


@pytest.mark.parametrize("case", JAVA.names)
def test_java(request, monkeypatch, listeners: Listeners, java: dict[str, str], case: str) -> None:
    for name, value in java.items():
        monkeypatch.setenv(name, value)
    JAVA.check(case, listeners.address(), wanted_cases(request))


@pytest.fixture
def signed_in(realm: Realm, monkeypatch: pytest.MonkeyPatch, request) -> None:
    """This process has a ticket."""
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{realm.ticket(request.node.name)}")


over_both = pytest.mark.parametrize("listener", ["TICKETS", "ENCRYPTED"])


def python(listeners: Listeners, listener: str) -> dict[str, object]:
    return {
        "bootstrap_servers": listeners.address(listener),
        "security_protocol": LISTENERS[listener],
        "sasl_mechanism": "GSSAPI",
        "ssl_context": ssl.create_default_context(cafile=str(listeners.authority)),
    }


@over_both
def test_kafka_python(listeners: Listeners, signed_in: None, name, listener: str) -> None:
    settings = {**python(listeners, listener), "sasl_kerberos_service_name": "kafka"}
    settings["sasl_kerberos_domain_name"] = "localhost"
    topic = name()
    producer = kafka.KafkaProducer(**settings)
    producer.send(topic, RECORD).get(60)
    producer.close()
    consumer = kafka.KafkaConsumer(topic, **settings, auto_offset_reset="earliest", consumer_timeout_ms=60_000)
    assert next(consumer).value == RECORD
    consumer.close()


@over_both
def test_aiokafka(listeners: Listeners, signed_in: None, name, listener: str) -> None:
    async def there_and_back() -> None:
        topic, settings = name(), python(listeners, listener)
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait(topic, RECORD)
        async with aiokafka.AIOKafkaConsumer(topic, **settings, auto_offset_reset="earliest") as consumer:
            assert (await consumer.getone()).value == RECORD

    asyncio.run(asyncio.wait_for(there_and_back(), 60))


@pytest.mark.skipif(
    KCAT is None or PLUGIN is None, reason="not installed: apt-get install kcat libsasl2-modules-gssapi-mit"
)
@over_both
def test_librdkafka(realm: Realm, listeners: Listeners, name, listener: str) -> None:
    user = f"kcat-{listener.lower()}"
    key_table, topic = realm.principal(user), name()
    settings = {
        "security.protocol": LISTENERS[listener],
        "ssl.ca.location": str(listeners.authority),
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.keytab": key_table,
        "sasl.kerberos.principal": f"{user}@{REALM}",
    }
    options = [word for key, value in settings.items() for word in ("-X", f"{key}={value}")]
    environment = {**os.environ, "KRB5CCNAME": f"FILE:{realm.folder}/{user}.cache"}

    def kcat(*arguments: str, said: str = "") -> str:
        done = subprocess.run(
            [str(KCAT), "-b", listeners.address(listener), *options, *arguments],
            input=said,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    kcat("-P", "-t", topic, said="value\n")
    assert kcat("-C", "-t", topic, "-e", "-q") == "value\n"
