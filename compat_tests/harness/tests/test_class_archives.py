"""Java takes Kafka's classes from the archives, where quick starts are wanted."""

from __future__ import annotations

import subprocess

import pytest

from compat_tests.harness.class_archives import EVERY_CLIENT, KAFKA, TOOLS
from compat_tests.harness.java import QUICK, compile_java, java_command


@pytest.mark.parametrize(
    ("jar_set", "words"),
    [
        (TOOLS, ["org.apache.kafka.tools.TopicCommand", "--version"]),
        (KAFKA, ["EveryClient", "no address"]),
        (KAFKA, ["kafka.tools.StorageTool", "random-uuid"]),
    ],
)
def test_classes_come_from_the_archive(jar_set: str, words: list[str]) -> None:
    classes = compile_java([EVERY_CLIENT], KAFKA) if words[0] == EVERY_CLIENT.stem else None
    command = [*java_command(words[0], jar_set, classes=classes, flags=[*QUICK, "-Xlog:class+load"]), *words[1:]]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert said.count("source: shared objects file (top)") > said.count("source: file:") > 0


def test_a_bench_with_kafkas_own_flags_goes_without() -> None:
    assert not [word for word in java_command("kafka.Kafka", "kafka", flags=["-Xmx1g"]) if "Archive" in word]
