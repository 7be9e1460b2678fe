"""Spark's own provider gets a delegation token over SASL_SSL, and the source and the sink of Kafka sign in by it, without a password.

Where Hadoop's security is on, Spark's token manager asks the provider and hands on the credentials; that needs Kerberos. Here the
test asks the same provider, in the session's JVM, with the session's settings, and gives the credentials to the session's user.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from compat_tests.conftest import TARGET
from compat_tests.harness.awaiting import eventually
from compat_tests.oracle.connection import Connection
from compat_tests.security.listeners import PROTOCOLS, USERS, Listeners, SecuredKafka, SecuredPykbroker, certificates
from compat_tests.security.tokens import Issuer
from compat_tests.spark.kafka_source import KafkaSource, places, values
from pykbroker.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "SCRAM-SHA-512"
_LISTENER = "SASL_SSL"


class Cluster(NamedTuple):
    """With security, and how one trusts it."""

    listeners: Listeners
    trust: dict[str, str]

    @property
    def address(self) -> str:
        return self.listeners.address(_LISTENER)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    assert PROTOCOLS[_LISTENER] == _LISTENER
    folder = tmp_path_factory.mktemp("secured")
    listeners = Listeners(certificates(folder, Issuer()))
    broker = (SecuredKafka if TARGET == "kafka" else SecuredPykbroker)(folder / TARGET, listeners)
    broker.start()
    yield Cluster(
        listeners,
        {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(listeners.files.authority)},
    )
    broker.stop()


def login(name: str) -> str:
    return f'{_PLAIN} required username="{name}" password="{USERS[name]}";'


def get_a_token(spark: SparkSession, cluster: Cluster) -> Any:
    """By the provider of ``spark.security.credentials.kafka``, which signs in by the settings of the cluster; the credentials.

    Both stay with the session, so the settings name the one cluster that they are for.
    """
    jvm = spark._jvm
    assert jvm is not None
    settings = jvm.org.apache.spark.SparkEnv.get().conf()
    for name, value in {
        "auth.bootstrap.servers": cluster.address,
        "target.bootstrap.servers.regex": cluster.address.replace(".", r"\."),
        "security.protocol": _LISTENER,
        "sasl.token.mechanism": _SCRAM,
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": login("alice"),
        **cluster.trust,
    }.items():
        settings.set(f"spark.kafka.clusters.secured.{name}", value)
    provider = jvm.org.apache.spark.kafka010.KafkaDelegationTokenProvider()
    hadoop = spark._jsc.hadoopConfiguration()
    assert provider.delegationTokensRequired(settings, hadoop)
    credentials = jvm.org.apache.hadoop.security.Credentials()
    renewal = provider.obtainDelegationTokens(hadoop, settings, credentials)
    assert renewal.isDefined(), "the provider got no token"
    jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser().addCredentials(credentials)
    return credentials


def tokens_of_alice(cluster: Cluster) -> list[Any]:
    """When there are some: Apache Kafka's broker hears of them a little later."""
    connection = Connection(cluster.listeners.address("SASL_PLAINTEXT"))
    connection.ask(SaslHandshakeRequest("PLAIN"), 1)
    connection.ask(SaslAuthenticateRequest(f"\0alice\0{USERS['alice']}".encode()), 2)
    described = eventually(
        lambda: connection.ask(DescribeDelegationTokenRequest(None), 3), lambda answer: answer.tokens
    )
    connection.close()
    return list(described.tokens)


def test_spark_gets_a_token_and_reads_and_writes_by_it(
    spark: SparkSession, cluster: Cluster, name, tmp_path: Path
) -> None:
    credentials = get_a_token(spark, cluster)
    assert credentials.numberOfTokens() == 1
    (token,) = tokens_of_alice(cluster)
    assert (token.principal_name, token.token_requester_principal_name) == ("alice", "alice")

    topic = name()
    trust = {f"kafka.{key}": value for key, value in cluster.trust.items()}
    rows = spark.range(5).selectExpr("CAST(id AS STRING) AS value")
    sink = {"kafka.bootstrap.servers": cluster.address, "topic": topic, **trust}
    rows.write.format("kafka").options(**sink).save()

    source = KafkaSource(spark, cluster.address)
    options = {"subscribe": topic, "startingOffsets": "earliest", **trust}
    assert sorted(values(places(source.batch(**options)))) == list("01234")
    source.drain(tmp_path, **options)
    assert sorted(values(source.stored(tmp_path))) == list("01234")


def test_without_a_token_nobody_is_let_in(spark: SparkSession, cluster: Cluster, name) -> None:
    """The other listener asks for one, too, and the settings of the token are not for it."""
    other = KafkaSource(spark, cluster.listeners.address("SASL_PLAINTEXT"))
    protocol = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": _SCRAM}
    with pytest.raises(Exception, match=r"(?i)jaas"):
        other.batch(subscribe=name(), **protocol).collect()
