"""Which processes are brokers, and that one gets the signal."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.container.tools import server_stop
from pykbroker.container.tools.server_stop import brokers, is_broker
from pykbroker.container.tools.table import main


@pytest.mark.parametrize(
    ("words", "is_one"),
    [
        ("python -P -m pykbroker.container run", True),
        ("/usr/local/bin/python3.12 -P -m pykbroker.container launch /etc/kafka/kafka.properties", True),
        ("python -P -m pykbroker.container tool kafka-server-start.sh server.properties", True),
        ("python -P -m pykbroker.container tool kafka-run-class kafka.Kafka server.properties", True),
        ("python -P -m pykbroker serve --http 0.0.0.0:8080", True),
        ("/venv/bin/python /venv/bin/pykbroker serve", True),
        ("python -P -m pykbroker.container tool kafka-server-stop.sh", False),
        ("python -P -m pykbroker.container tool kafka-run-class kafka.tools.GetOffsetShell", False),
        ("python -P -m pykbroker.container health", False),
        ("python -P -m pykbroker topics list", False),
        ("python -m pykbroker.process.compacting", False),
        ("vi -m pykbroker serve", False),
        ("", False),
    ],
)
def test_brokers(words: str, is_one: bool) -> None:
    assert is_broker([*words.split(), ""] if words else []) is is_one


def test_those_of_this_container(tmp_path: Path) -> None:
    serve = "python -m pykbroker serve"
    for number, words, root in (
        ("41", serve, "/"),
        ("42", "sleep 1", "/"),
        ("43", serve, "/tmp"),
        ("44", serve, "/no"),
    ):
        (tmp_path / number).mkdir()
        (tmp_path / number / "cmdline").write_bytes(words.replace(" ", "\0").encode() + b"\0")
        (tmp_path / number / "root").symlink_to(root)
    (tmp_path / "45").mkdir()
    (tmp_path / "self").mkdir()
    assert list(brokers(tmp_path)) == [41]


def test_it_gets_the_signal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        monkeypatch.setattr(server_stop, "brokers", lambda _: iter([process.pid]))
        assert main("kafka-server-stop.sh", ["config/server.properties"]) == 0
        assert process.wait() == -signal.SIGTERM
    monkeypatch.setattr(server_stop, "brokers", lambda _: iter([]))
    assert main("kafka-server-stop", []) == 1
    assert capsys.readouterr().err == "kafka-server-stop: No kafka server to stop\n"


def test_the_command_has_ended_before_the_first_process_does() -> None:
    """The end of a container kills what runs in it, and Kafka's script ends with 0."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        stop = "from pykbroker.container.tools import server_stop; server_stop._FIRST = {0}; "
        stop += "server_stop.brokers = lambda _: iter([{0}]); server_stop.main([])"
        done = subprocess.run([sys.executable, "-c", stop.format(process.pid)], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert process.wait() == -signal.SIGTERM
