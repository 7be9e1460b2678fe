"""What the controller answers reaches clients by our broker as by Apache Kafka's (KIP-590): the same requests to both, the answers compared."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member
from pykbroker.metadata.image import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.wire.message import Message
from pykbroker.wire.messages import alter_client_quotas as quotas
from pykbroker.wire.messages import alter_configs as replacing
from pykbroker.wire.messages import alter_partition_reassignments as reassignments
from pykbroker.wire.messages import create_acls, create_partitions, create_topics, delete_topics, elect_leaders
from pykbroker.wire.messages import describe_quorum as quorum
from pykbroker.wire.messages import incremental_alter_configs as incremental
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from pykbroker.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

OURS, JAVA = 4, 1
#: What differs from one question to the next: ids of topics (any bytes, quotes and commas among them), and how far
#: the log of the metadata has come.
_DIFFERENT = re.compile(
    r"(topic_id|high_watermark|log_end_offset|last_fetch_timestamp|last_caught_up_timestamp)="
    r"""(?:b'(?:\\.|[^'\\])*'|b"(?:\\.|[^"\\])*"|-?\d+)"""
)


def ask(bootstrap: str, request: Message, version: int) -> Message:
    with closing(Connection(bootstrap, patience_s=60)) as connection:
        return connection.ask(request, version)


def topic(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> create_topics.CreatableTopic:
    settings = [create_topics.CreatableTopicConfig(each.replace("_", "."), value) for each, value in configs.items()]
    return create_topics.CreatableTopic(name, partitions, factor, configs=settings)


def creating(*topics: create_topics.CreatableTopic, validate_only: bool = False) -> Message:
    return create_topics.CreateTopicsRequest(list(topics), 60_000, validate_only)


def altering(*resources: tuple[int, str, str, str]) -> Message:
    return incremental.IncrementalAlterConfigsRequest(
        [
            incremental.AlterConfigsResource(kind, name, [incremental.AlterableConfig(key, 0, value)])
            for kind, name, key, value in resources
        ]
    )


def requests(name: str, broker: int) -> Sequence[tuple[Message, int]]:
    """What is asked of one broker, which is ``broker``: with ``name`` in the names of what it makes."""
    other = JAVA if broker == OURS else OURS
    return [
        (creating(topic(name, retention_ms="100000"), topic(f"{name}.many", 1, 9), topic("a b")), 7),
        (creating(topic(name)), 7),
        (creating(topic(f"{name}.only"), validate_only=True), 5),
        (create_partitions.CreatePartitionsRequest([create_partitions.CreatePartitionsTopic(name, 3, None)]), 3),
        (create_partitions.CreatePartitionsRequest([create_partitions.CreatePartitionsTopic(name, 2, None)]), 3),
        (altering((TOPIC_RESOURCE, name, "retention.ms", "7"), (TOPIC_RESOURCE, "none", "retention.ms", "7")), 1),
        (altering((TOPIC_RESOURCE, name, "retention.ms", "x")), 1),
        (altering((BROKER_RESOURCE, str(broker), "log.cleaner.threads", "1")), 1),
        (altering((BROKER_RESOURCE, str(other), "log.cleaner.threads", "1")), 1),
        (
            altering(
                (BROKER_LOGGER_RESOURCE, str(broker), "root", "INFO"), (TOPIC_RESOURCE, name, "retention.ms", "8")
            ),
            1,
        ),
        (
            replacing.AlterConfigsRequest(
                [
                    replacing.AlterConfigsResource(
                        TOPIC_RESOURCE, name, [replacing.AlterableConfig("segment.bytes", "2000000")]
                    )
                ]
            ),
            2,
        ),
        *others(name),
        (delete_topics.DeleteTopicsRequest([delete_topics.DeleteTopicState(name)]), 6),
        (delete_topics.DeleteTopicsRequest([delete_topics.DeleteTopicState(name)]), 6),
    ]


def others(name: str) -> Sequence[tuple[Message, int]]:
    """Those about other subjects than topics and settings."""
    entity = [quotas.EntityData("user", name)]
    return [
        (
            quotas.AlterClientQuotasRequest(
                [quotas.AlterClientQuotasRequestEntryData(entity, [quotas.OpData("producer_byte_rate", 5.0)])]
            ),
            1,
        ),
        (
            quotas.AlterClientQuotasRequest(
                [quotas.AlterClientQuotasRequestEntryData(entity, [quotas.OpData("none", 5.0)])]
            ),
            1,
        ),
        (create_acls.CreateAclsRequest([create_acls.AclCreation(2, name, 3, "User:a", "*", 3, 3)]), 3),
        (elect_leaders.ElectLeadersRequest(0, [elect_leaders.TopicPartitions(name, [0, 9])]), 2),
        (
            reassignments.AlterPartitionReassignmentsRequest(
                topics=[reassignments.ReassignableTopic(name, [reassignments.ReassignablePartition(0, [77])])]
            ),
            1,
        ),
        (ListPartitionReassignmentsRequest(60_000, None), 0),
        (AlterUserScramCredentialsRequest([ScramCredentialDeletion(name, 1)]), 0),
        (UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("metadata.version", 99, upgrade_type=1)]), 2),
        (UnregisterBrokerRequest(99), 0),
        (
            quorum.DescribeQuorumRequest(
                [
                    quorum.DescribeQuorumRequestTopicData(
                        "__cluster_metadata", [quorum.DescribeQuorumRequestPartitionData(0)]
                    )
                ]
            ),
            2,
        ),
    ]


def test_both_answer_alike(java: ApacheKafka, ours: Member) -> None:
    found: dict[int, list[str]] = {}
    for node, broker in ((JAVA, java), (OURS, ours)):
        name = f"t-{uuid.uuid4()}"
        answers = [repr(ask(broker.bootstrap, *each)) for each in requests(name, node)]
        other = JAVA if node == OURS else OURS
        normalised: Callable[[str], str] = lambda text, name=name, node=node, other=other: (  # noqa: E731
            _DIFFERENT.sub(r"\1=*", text)
            .replace(name, "NAME")
            .replace(f"resource_name='{node}'", "resource_name='THIS'")
            .replace(f"resource_name='{other}'", "resource_name='OTHER'")
            .replace(f"expected {node}, but received {other}", "expected THIS, but received OTHER")
        )
        found[node] = [normalised(each) for each in answers]
    for (request, _), theirs, own in zip(requests("NAME", JAVA), found[JAVA], found[OURS], strict=True):
        assert own == theirs, request
    assert "error_code=0" in found[OURS][0]


@pytest.mark.parametrize("version", range(2, 8))
def test_each_version_of_the_request_within(version: int, java: ApacheKafka, ours: Member) -> None:
    answer = ask(ours.bootstrap, creating(topic(f"t-{uuid.uuid4()}")), version)
    assert [each.error_code for each in answer.topics] == [0]  # type: ignore[attr-defined]
