"""Classes of Kafka, by the commands that they are."""

from __future__ import annotations

import pytest

from pykbroker.container.tools.run_class import COMMANDS
from pykbroker.container.tools.table import TOOLS, main


def test_each_is_one_of_the_commands() -> None:
    assert set(COMMANDS.values()) <= TOOLS.keys()
    assert set(COMMANDS.values()) == TOOLS.keys() - {"kafka-run-class", "kafka-server-stop"}


@pytest.mark.parametrize(
    "words",
    [
        ["kafka.tools.GetOffsetShell"],
        ["-daemon", "-name", "x", "-loggc", "org.apache.kafka.tools.GetOffsetShell"],
    ],
)
def test_a_class_is_its_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--broker-list", "127.0.0.1:1", "--topic", "t", "--time", "-1", "--offsets", "1"]
    assert main("kafka-run-class.sh", [*words, *given]) == 1
    assert capsys.readouterr().err.startswith("kafka-get-offsets: Cannot connect to 127.0.0.1:1")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["kafka.tools.JmxTool", "--jmx-url", "x"], "/metrics"),
        (["com.example.GetOffsetShell"], "there is no Java in this image"),
        (["-name"], "no class cannot run"),
    ],
)
def test_one_that_there_is_not(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("kafka-run-class", words) == 1
    assert told in capsys.readouterr().err
