"""``kafka-acls`` as the image has it: what it is asked, Kafka's own is asked of the same broker, and prints the same."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from compat_tests.harness.kafka_tools import KafkaTools
from pykbroker.container.tools.table import main
from pykbroker.testing import Kafka

Run = Callable[..., tuple[int, str, str]]


@contextmanager
def authorizing() -> Iterator[str]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with Kafka(settings) as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture
def addresses() -> Iterator[tuple[str, str]]:
    """Two brokers that know the same."""
    with authorizing() as ours, authorizing() as theirs:
        yield ours, theirs


@pytest.fixture
def ours(addresses: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str, at: str = addresses[0]) -> tuple[int, str, str]:
        status = main("kafka-acls.sh", ["--bootstrap-server", at, *words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def theirs(kafka_tools: KafkaTools, addresses: tuple[str, str]) -> Run:
    def run(*words: str, at: str = addresses[1]) -> tuple[int, str, str]:
        done = kafka_tools("acls", "--bootstrap-server", at, *words)
        return done.status, done.out, done.err

    return run


def lines(text: str) -> list[str]:
    """In Kafka resources and entries have the order of a hash table."""
    return sorted(line.strip() for line in text.splitlines())


ADDED = (
    "--allow-principal User:alice --operation Read --topic t",
    "--allow-principal User:a --allow-principal User:b --allow-host 10.0.0.1 --producer --topic t --topic u --idempotent",
    "--allow-principal User:b --allow-principal User:a --producer --topic t --transactional-id x",
    "--allow-principal User:c --consumer --topic p- --group g --resource-pattern-type prefixed",
    "--allow-principal User:d --producer --consumer --topic both --group *",
    "--deny-principal User:* --deny-host 1.2.3.4 --operation All --cluster",
    "--deny-principal User:e --operation DescribeConfigs --operation IdempotentWrite --cluster",
    "--allow-principal User:f --topic *",
    "--allow-principal User:CN=x,O=y --operation CreateTokens --user-principal User:z",
)
REMOVED = (
    "--topic t --allow-principal User:alice --operation Read",
    "--topic u",
    "--producer --topic both",
    "--topic p-1 --resource-pattern-type match",
    "--cluster --deny-principal User:* --deny-host 1.2.3.4",
    "--topic nothing",
)
REFUSED = (
    "--add --list --topic t",
    "--topic t",
    "--add --topic t",
    "--add --allow-principal alice --topic t",
    "--add --allow-principal User:a",
    "--remove --force",
    "--add --allow-principal User:a --operation Read --cluster",
    "--add --allow-principal User:a --operation Fly --topic t",
    "--add --allow-principal User:a --producer --operation Read --topic t",
    "--add --allow-principal User:a --producer",
    "--add --allow-principal User:a --consumer --topic t",
    "--add --allow-principal User:a --consumer --topic t --group g --cluster",
    "--add --allow-principal User:a --idempotent --topic t",
    "--add --allow-principal User:a --principal User:b --topic t",
    "--list --allow-principal User:a",
    "--add --allow-principal User:a --topic t --resource-pattern-type match",
    "--add --allow-principal User:a --topic t --resource-pattern-type colour",
    "--list --colour",
)
LISTED = (
    "",
    "--topic t",
    "--topic p-1 --resource-pattern-type match",
    "--topic t --topic u --cluster --group g --resource-pattern-type any",
    "--principal User:a --principal User:nobody",
    "--topic nothing",
)


def test_what_is_added_listed_and_removed(ours: Run, theirs: Run) -> None:
    asked = [f"--add {words}" for words in ADDED]
    asked += [f"--list {words}" for words in LISTED]
    for words in REMOVED:
        asked += [f"--remove --force {words}", "--list"]
    for words in asked:
        said, expected = ours(*words.split()), theirs(*words.split())
        assert (said[0], lines(said[1]), said[2]) == (0, lines(expected[1]), ""), words


def test_what_is_removed_is_asked_before(ours: Run, theirs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal Kafka's own prints the question, and fails."""
    ours("--add", "--allow-principal", "User:a", "--topic", "asked")
    there = ours("--list")
    for words in (("--topic", "asked"), ("--topic", "asked", "--allow-principal", "User:a", "--operation", "All")):
        question = theirs("--remove", *words)[1].partition("Error while")[0]
        for answer in ("n\n", ""):
            monkeypatch.setattr("sys.stdin", io.StringIO(answer))
            assert ours("--remove", *words) == (0, question, "")
    assert ours("--list") == there
    assert "User:a" in there[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert ours("--remove", "--topic", "asked")[0] == 0
    assert ours("--list") == (0, "", "")


def test_what_is_refused(ours: Run, theirs: Run) -> None:
    for words in REFUSED:
        said, expected = ours(*words.split()), theirs(*words.split())
        assert (said[0], expected[0], said[1]) == (1, 1, "")
        told = (expected[2] or expected[1]).splitlines()[0].removeprefix("Error while executing ACL command: ")
        assert said[2].startswith("kafka-acls: ")
        assert said[2].split(" ", 3)[1:3] == told.split(" ", 2)[:2] or "colour" in said[2].lower(), (said[2], told)
    assert ours("--list") == (0, "", "")


def test_without_an_authorizer(ours: Run, theirs: Run) -> None:
    with Kafka() as kafka:
        for words in ("--list", "--add --allow-principal User:a --topic *", "--remove --topic t --force"):
            at = kafka.bootstrap_servers
            said, expected = ours(*words.split(), at=at), theirs(*words.split(), at=at)
            assert (said[0], expected[0]) == (1, 1)
            told = expected[1][expected[1].index("No Authorizer") :].splitlines()[0]
            assert said[2] == f"kafka-acls: {told}\n"
