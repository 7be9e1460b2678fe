"""TAB in real shells, at a terminal: what somebody named a group is neither run nor put on the line. Nothing is skipped but shells
that are not installed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compat_tests.harness.process import BrokerProcess
from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.client.offsets import TopicPartition, commit_offsets

pexpect = pytest.importorskip("pexpect")

PROMPT = "ready> "
#: How each shell is started without its user's files, and told of the completion.
SHELLS = {
    "bash": (["--norc", "--noprofile"], f"PS1='{PROMPT}'", 'eval "$(_PYKBROKER_COMPLETE=source_bash pykbroker)"'),
    "zsh": (
        ["-f"],
        f"PROMPT='{PROMPT}'; unsetopt promptcr",
        'autoload -U compinit; compinit -u -D; eval "$(_PYKBROKER_COMPLETE=source_zsh pykbroker)"',
    ),
    "fish": (
        ["--no-config"],
        f"function fish_prompt; echo -n '{PROMPT}'; end",
        "_PYKBROKER_COMPLETE=source_fish pykbroker | source",
    ),
}
RUN = "touch pwned"
HOSTILE = (
    *(f"$({RUN})", f"`{RUN}`", f";{RUN};", f"'$({RUN})'", f'"$({RUN})"', f"\n{RUN}\n", f"))'; {RUN}; : '((", f"|{RUN}"),
    *(f"$(eval\t{RUN})", f"\\$({RUN})", f"({RUN})", f"\x1b\r{RUN}\r", f"\r{RUN}\r", f"${{x:-$({RUN})}}", f"&{RUN}&"),
)


@pytest.fixture
def bootstrap(start_target: Callable[..., BrokerProcess]) -> str:
    """A broker for each test: groups with such names do not stay on the one that all share."""
    return start_target().bootstrap


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, bootstrap: str, tmp_path: Path) -> Iterator[Any]:
    """A shell at a terminal, in an empty folder."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed (on Debian: apt-get install {request.param})")
    arguments, prompt, completion = SHELLS[request.param]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
        "PYKBROKER_BOOTSTRAP": bootstrap,
    }
    spawned = pexpect.spawn(
        program, arguments, env=environment, cwd=tmp_path, encoding="utf-8", timeout=60, dimensions=(50, 400)
    )
    spawned.sendline(prompt)
    spawned.expect_exact(PROMPT)
    spawned.sendline(f"{completion}; echo set'-'up")
    spawned.expect_exact("set-up")
    spawned.expect_exact(PROMPT)
    yield spawned
    with suppress(OSError):
        spawned.close(force=True)


def _commit(bootstrap: str, topic: str, groups: list[str]) -> None:
    with Client(parse_bootstrap(bootstrap), timeout_s=30) as client:
        for group in groups:
            commit_offsets(client, group, {TopicPartition(topic, 0): 0})


def test_a_group_named_as_a_command_is_not_run(
    shell: Any, bootstrap: str, topic: str, name: Callable[..., str], tmp_path: Path
) -> None:
    start = name("group")
    _commit(bootstrap, topic, [f"{start}-good", *(start + each for each in HOSTILE)])
    shell.send(f"pykbroker groups describe {start}")
    for _ in range(5):  # completion gives up after a second, which a busy machine may need for less
        shell.send("\t")
        if shell.expect_exact(["-good", pexpect.TIMEOUT], timeout=6) == 0:
            break  # the only one that is left
    else:
        pytest.fail("the harmless group was not completed")
    assert not (tmp_path / "pwned").exists()
    shell.sendline()
    shell.expect_exact("COMMITTED")
    shell.expect_exact(PROMPT)
    assert not (tmp_path / "pwned").exists()
