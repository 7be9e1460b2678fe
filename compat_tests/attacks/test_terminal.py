"""Names and records that steer a terminal, in both brokers: Kafka's tools print them as they are, and our commands do not.

Every command, every field and hostile brokers are in ``pykbroker/tests/cli/test_hostile.py``. Completion by TAB, of which Kafka's tools
have none, is in ``compat_tests/cli/test_completion_shells.py``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from typing import Any

import pytest

from compat_tests.harness.crowded import with_groups, with_topics, with_transactional_ids
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.process import ROOT, BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.runtime.escaping import escaped_layout
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

pexpect = pytest.importorskip("pexpect")

#: Writes the clipboard (OSC 52), clears, by C1, too, and turns text around.
STEERS = "\x1b]52;c;cHduZWQ=\x07", "\x1b[2J", "\x9b1A", "\u202e"
WORD = f"planted{''.join(STEERS)}"
TOPIC = "words"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

#: Kafka's tool with its options, and our command.
COMMANDS = {
    "groups": (("groups", "--list"), ("groups", "list")),
    "transactions": (("transactions", "list"), ("transactions", "list")),
    "quotas": (("configs", "--describe", "--entity-type", "clients"), ("quotas", "list")),
    "records": (
        ("console-consumer", "--topic", TOPIC, "--partition", "0", "--offset", "0", "--max-messages", "1"),
        ("consume", TOPIC, "-n", "1"),
    ),
}


@pytest.fixture(scope="module")
def planted(brokers: list[BrokerProcess]) -> list[BrokerProcess]:
    """Whoever may commit an offset, begin a transaction or produce plants them."""
    for broker in brokers:
        with closing(Connection(broker.bootstrap, patience_s=60)) as connection:
            with_topics(connection, [TOPIC])
            with_transactional_ids(connection, [WORD])
            with_groups(connection, TOPIC, [WORD])
            quota = AlterClientQuotasRequestEntryData(
                [EntityData("client-id", WORD)], [OpData("producer_byte_rate", 1e9)]
            )
            answer: Any = connection.ask(AlterClientQuotasRequest([quota]), 1)
            assert not answer.entries[0].error_code
            batch = encode_batch([Record(timestamp=1_700_000_000_000, value=WORD.encode())])
            data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, batch)])
            answer = connection.ask(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data]), 9)
            assert not answer.responses[0].partition_responses[0].error_code
    return brokers


@pytest.mark.parametrize("what", COMMANDS)
def test_kafkas_tools_print_them_and_ours_do_not(
    what: str, planted: list[BrokerProcess], kafka_tools: KafkaTools
) -> None:
    theirs, ours = COMMANDS[what]
    for broker in planted:
        printed = kafka_tools(theirs[0], "--bootstrap-server", broker.bootstrap, *theirs[1:]).out
        assert all(each in printed for each in STEERS), printed

        command = [sys.executable, "-m", "pykbroker", *ours, "-b", broker.bootstrap]
        at = pexpect.spawn(command[0], command[1:], encoding="utf-8", timeout=120, cwd=str(ROOT), dimensions=(50, 400))
        at.expect(pexpect.EOF)
        at_terminal = at.before
        assert at.wait() == 0, at_terminal  # close() would send a signal to one that is slow to end
        assert "planted" in at_terminal
        shown = _COLOURS.sub("", at_terminal).replace("\r\n", "\n")
        assert escaped_layout(shown) == shown
        if what != "records":  # in a pipe values keep all their bytes
            piped = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
            assert "planted" in piped
            assert escaped_layout(piped) == piped
