"""The unit for systemd: what systemd itself says of it, and that its commands are ours."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.harness.process import ROOT
from compat_tests.image.container import PATIENCE_S
from pykbroker.cli.serve_options import parser

UNIT = ROOT / "scripts" / "systemd" / "pykbroker.service"
#: Of ten; what is above 2 systemd calls no longer "OK", for a service with the network.
_MOST_EXPOSED = "2"


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_systemd_understands_all_of_it(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/pykbroker/.venv/bin/pykbroker", shutil.which("true") or "/bin/true"))
    done = analyze("verify", "--recursive-errors=no", str(unit))
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_hardly_exposed() -> None:
    done = analyze("security", "--offline=true", f"--threshold={int(_MOST_EXPOSED) * 10}", str(UNIT))
    assert done.returncode == 0, done.stdout[-2000:]


def test_its_commands_are_ours(tmp_path: Path) -> None:
    commands = re.findall(
        r"^ExecStart(?:Pre)?=/opt/pykbroker/.venv/bin/pykbroker (\w+) (.*)$", UNIT.read_text(), re.MULTILINE
    )
    assert [command for command, _ in commands] == ["check", "serve"]
    for command, words in commands:
        parser().parse_args(words.split())
        if command == "check":
            (tmp_path / "server.properties").write_text("num.partitions=3\n")
            given = words.replace("/etc/pykbroker", str(tmp_path)).split()
            subprocess.run([sys.executable, "-m", "pykbroker", command, *given], check=True, timeout=PATIENCE_S)
