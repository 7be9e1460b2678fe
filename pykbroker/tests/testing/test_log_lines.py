"""The broker's log: kept for the test, and apart from the logging of its process."""

from __future__ import annotations

import logging

import pytest

from pykbroker.testing import Kafka


def create(broker: Kafka, name: str) -> None:
    broker.create_topic(name)
    assert any(f"Created 1 topic: {name} " in line for line in broker.log_lines)


def test_lines_are_kept_and_nobody_else_is_told(broker: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    create(broker, "t")
    assert caplog.records == []


def test_who_wants_info_gets_it(broker: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        create(broker, "t")
    create(broker, "u")
    with caplog.at_level(logging.INFO, "pykbroker"):
        create(broker, "v")
    said = [record.getMessage() for record in caplog.records]
    assert [text.split()[3] for text in said if text.startswith("Created")] == ["t", "v"]


def test_warnings_reach_everybody(broker: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    broker._ask(lambda _: logging.getLogger("pykbroker.anything").warning("mind this"))
    assert [record.getMessage() for record in caplog.records] == ["mind this"]
    assert broker.log_lines[-1].endswith("WARNING pykbroker.anything: mind this")


def test_loggers_are_left_as_they_were() -> None:
    logger = logging.getLogger("pykbroker")
    before = (logger.level, logger.propagate, logger.parent, list(logger.handlers))
    with Kafka(), Kafka():
        pass
    assert (logger.level, logger.propagate, logger.parent, list(logger.handlers)) == before


def test_words_of_clients_reach_the_log_of_the_process_escaped(broker: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("pykbroker.test")
    log.warning("Group %s", "x\x1b]52;c;cHduZWQ=\x07\x9b2J\nFORGED\u202e")
    log.warning("Group %s", "plain")
    assert [record.getMessage() for record in caplog.records] == [
        r"Group x\x1b]52;c;cHduZWQ=\x07\x9b2J\nFORGED\u202e",
        "Group plain",
    ]
    assert caplog.records[1].args == ("plain",), "a record that is harmless is handed on as it is"
