"""Ctrl-C at a terminal, while one of our commands waits for a hostile broker: it ends, with no traceback and the status of an interrupt."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.attacks.clients import ours
from compat_tests.attacks.hostile import Hostile, a_byte_a_second, many_iterations, silence
from compat_tests.attacks.test_hostile_brokers import for_java
from compat_tests.harness.awaiting import LIMIT_S

pexpect = pytest.importorskip("pexpect")

_INTERRUPTED = 130
COMMANDS = {
    "topics list": [],
    "groups describe": ["g"],
    "consume": ["t"],
    "produce": ["t"],
    "transactions list": [],
    "perf consume": ["t", "-n", "1"],
}


@pytest.mark.parametrize(
    ("attack", "command"),
    [
        *((a_byte_a_second, command) for command in COMMANDS),
        *((attack, command) for attack in (many_iterations, silence) for command in ("topics list", "produce")),
    ],
)
def test_a_command_is_interrupted(attack, command: str, tmp_path: Path) -> None:
    """The key is pressed when the attack has begun; the command would wait for an hour."""
    with Hostile(attack).running() as hostile:
        line = ours(*command.split(), *COMMANDS[command], command_config=for_java(tmp_path / "ours", hostile))
        at = pexpect.spawn(line[0], [*line[1:], "--timeout", "3600"], encoding="utf-8", timeout=120)
        assert hostile.begun.wait(LIMIT_S)
        at.sendintr()
        at.expect(pexpect.EOF)
        at.wait()  # close() would send a signal to one that is slow to end
    ends_so = command == "consume"  # without -n it has no other end
    assert (at.exitstatus, at.signalstatus) == (0 if ends_so else _INTERRUPTED, None), at.before
    assert "Traceback" not in at.before
