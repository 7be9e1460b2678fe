"""Completion in a shell: what bash is told for a line that is begun. Nothing is skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from compat_tests.cli.conftest import Result

Run = Callable[..., Result]


def _completed(bootstrap: str, *words: str) -> list[str]:
    """What the last of ``words`` may become; nothing may be said beside it."""
    environment = {
        **os.environ,
        "PYKBROKER_BOOTSTRAP": bootstrap,
        "_PYKBROKER_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["pykbroker", *words]),
        "COMP_CWORD": str(len(words)),
    }
    command = [sys.executable, "-m", "pykbroker"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def group(run: Run, topic: str, name: Callable[..., str]) -> str:
    made = name("group")
    run("consume", topic, "-g", made, "--exit")
    return made


def test_commands_and_options(bootstrap: str) -> None:
    assert _completed(bootstrap, "top") == ["topics"]
    assert "--beginning" in _completed(bootstrap, "consume", "--be")


@pytest.mark.parametrize(
    "words",
    [
        *(
            ("produce",),
            ("consume",),
            ("topics", "describe"),
            ("topics", "delete"),
            ("groups", "reset", "g", "--topic"),
        ),
        *(("configs", "describe", "topic"), ("reassignments", "cancel"), ("acls", "list", "--topic")),
    ],
)
def test_topics(bootstrap: str, topic: str, words: tuple[str, ...]) -> None:
    assert _completed(bootstrap, *words, topic[:-2]) == [topic]


@pytest.mark.parametrize("words", [("consume", "t", "--group"), ("groups", "describe"), ("groups", "reset")])
def test_groups(bootstrap: str, group: str, words: tuple[str, ...]) -> None:
    assert _completed(bootstrap, *words, group[:-2]) == [group]


def test_settings_of_what_is_on_the_line(bootstrap: str, topic: str) -> None:
    assert _completed(bootstrap, "configs", "alter", "topic", topic, "--set", "retention.") == [
        *("retention.bytes=", "retention.ms="),
    ]
    (broker, *_) = _completed(bootstrap, "configs", "describe", "broker", "")
    assert "log.retention.ms" in _completed(bootstrap, "configs", "describe", "broker", broker, "-s", "log.retention.m")
    loggers = _completed(bootstrap, "configs", "alter", "broker-logger", broker, "--delete", "")
    assert "root" in loggers
    assert len(loggers) > 1  # Apache Kafka has as many as have logged
    assert _completed(bootstrap, "logdirs", "--broker", broker[:1]) == [broker]


def test_transactional_ids_and_users(run: Run, bootstrap: str, topic: str, name: Callable[..., str]) -> None:
    transactional_id, user = name("transactional"), name("user")
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(60)
    assert _completed(bootstrap, "transactions", "describe", transactional_id[:-2]) == [transactional_id]
    run("users", "set", user, "-m", "scram-sha-256", stdin=b"a secret\n")
    try:
        assert _completed(bootstrap, "users", "remove", user[:-2]) == [user]
    finally:
        run("users", "remove", user)


def test_the_broker_named_on_the_line_is_asked(bootstrap: str, topic: str) -> None:
    assert _completed("127.0.0.1:1", "consume", "-b", bootstrap, topic[:-2]) == [topic]


@pytest.mark.parametrize("bootstrap_option", ["127.0.0.1:1", "nonsense:port"])
def test_nobody_there_is_no_noise(bootstrap_option: str) -> None:
    assert _completed(bootstrap_option, "consume", "t") == []
    assert _completed(bootstrap_option, "groups", "describe", "g") == []
