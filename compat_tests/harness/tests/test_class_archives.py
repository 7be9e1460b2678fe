"""Java takes Kafka's classes from the archive, where quick starts are wanted."""

from __future__ import annotations

import subprocess

import pytest

from compat_tests.harness.class_archives import KAFKA
from compat_tests.harness.java import QUICK, java_command


@pytest.mark.parametrize(
    "words", [["org.apache.kafka.tools.TopicCommand", "--version"], ["kafka.tools.StorageTool", "random-uuid"]]
)
def test_classes_come_from_the_archive(words: list[str]) -> None:
    command = [*java_command(words[0], KAFKA, flags=[*QUICK, "-Xlog:class+load"]), *words[1:]]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said.count("source: shared objects file (top)") > said.count("source: file:") > 0


def test_a_bench_with_kafkas_own_flags_goes_without() -> None:
    assert not [word for word in java_command("kafka.Kafka", "kafka", flags=["-Xmx1g"]) if "Archive" in word]
