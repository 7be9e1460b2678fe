"""Brokers that hold who connects, before either has proved who it is: Java's client, librdkafka and ours, of the same servers.

Java's client of 4.4.0 computes as many iterations of SCRAM as it is told, and takes as much memory as a frame says that it has.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from compat_tests.attacks.clients import (
    LIMIT,
    PATIENCE_S,
    java_client,
    librdkafka,
    our_client,
    properties,
)
from compat_tests.attacks.hostile import ATTACKS, Hostile, a_byte_a_second

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_SECURITY = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
_LOGIN = f'{_SCRAM} required username="alice" password="secret";'
#: Bytes of an attack that the buffers of the system hold.
_BUFFERS = 32 << 20

JAVA = {"endless_iterations": "waits on", "a_byte_a_second": "TimeoutException", "a_huge_length": "thread has exited"}
LIBRDKAFKA = {
    "endless_iterations": "not integer or too large",
    "a_byte_a_second": "transport failure",
    "a_huge_length": "Invalid response size 2147483647",
}
#: Words, and the status: of what is wrong, and of what is not there.
OURS = {
    "endless_iterations": ("is not valid SCRAM", 1),
    "a_byte_a_second": ("within 2 s", 3),
    "a_huge_length": ("does not speak Kafka's plain protocol", 1),
}


def for_java(path: Path, hostile: Hostile, patience_s: int = PATIENCE_S) -> Path:
    """Settings of Java's client, and of ours."""
    settings = {"bootstrap.servers": hostile.address, "sasl.jaas.config": _LOGIN, **_SECURITY}
    return properties(path, settings, patience_s)


def test_javas_client(tmp_path: Path) -> None:
    """On a slow machine it may give up before it is told how many iterations it shall compute: then it is given longer."""
    with ExitStack() as stack:
        hostile = {each.__name__: stack.enter_context(Hostile(each).running()) for each in ATTACKS}
        for patience_s in (PATIENCE_S, 4 * PATIENCE_S):
            files = [for_java(tmp_path / name, each, patience_s) for name, each in hostile.items()]
            with files[0].open("a") as endless:
                endless.write(f"{LIMIT}={3000 * patience_s}\n")
            said = dict(zip(hostile, java_client(files, "-Xmx64m"), strict=True))
            if "TimeoutException" not in said["endless_iterations"]:
                break
    print(said)
    assert all(each.attacked for each in hostile.values())
    assert all(JAVA[name] in words for name, words in said.items()), said


@pytest.mark.parametrize("attack", ATTACKS)
def test_librdkafka(attack) -> None:
    with Hostile(attack).running() as hostile:
        login = {"sasl.username": "alice", "sasl.password": "secret"}
        settings = {"bootstrap.servers": hostile.address, **_SECURITY, **login}
        librdkafka(settings, LIBRDKAFKA[attack.__name__])
    assert hostile.attacked


@pytest.mark.parametrize("attack", ATTACKS)
def test_our_commands(attack, tmp_path: Path) -> None:
    with Hostile(attack).running() as hostile:
        patience = {"patience_s": PATIENCE_S} if attack is a_byte_a_second else {}
        done = our_client(for_java(tmp_path / "ours", hostile), **patience)
    assert hostile.attacked
    words, status = OURS[attack.__name__]
    assert words in done.stderr
    assert done.returncode == status
    assert hostile.sent < _BUFFERS * hostile.attacked
