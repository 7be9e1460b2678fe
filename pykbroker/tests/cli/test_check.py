"""``pykbroker check``: what ``serve`` would take, and what it would not, with nothing started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from pykbroker.cli.check import main
from pykbroker.runtime.escaping import escaped_layout
from pykbroker.tests.cli.test_serve import serving

#: The settings that Apache Kafka 4 ships as config/server.properties, without its words.
SHIPPED = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    file = tmp_path / "server.properties"
    file.write_text(SHIPPED)
    return file


def test_kafkas_own_settings_are_good(shipped: Path, capsys) -> None:
    assert main(["--config", str(shipped)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said[:-1]] == ["warning"]
    assert "CONTROLLER://:9093 is not opened" in said[0]
    assert said[-1].endswith("settings are good: PLAINTEXT://:9092, data in /tmp/kraft-combined-logs")
    assert not Path("/tmp/kraft-combined-logs").exists()


def test_a_quorum_of_itself_in_the_older_words_is_good_too(shipped: Path, capsys) -> None:
    older = SHIPPED.replace("bootstrap.servers=localhost:9093", "voters=1@localhost:9093")
    assert older != SHIPPED
    shipped.write_text(older)
    assert main(["--config", str(shipped)]) == 0
    assert "settings are good" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "serve"])
@pytest.mark.parametrize("line", ["num.partitions=WORD", "listeners=PLAINTEXT://WORD:0", "log.dirs=/proc/WORD"])
@pytest.mark.deep(but=2)
def test_a_file_of_others_does_nothing_to_a_terminal(command: str, line: str, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    own_port = "" if line.startswith("listeners") else "listeners=PLAINTEXT://127.0.0.1:0\n"
    said_by_others = line.replace("WORD", "a\x1b]52;c;cHduZWQ=\x07\u202eb")
    file.write_text(f"{own_port}{said_by_others}\n", encoding="utf-8")
    words = [sys.executable, "-m", "pykbroker", command, "--config", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    said = done.stdout + done.stderr
    assert "\\x1b]52;c" in said
    assert escaped_layout(said) == said


def test_they_are_served(shipped: Path, tmp_path: Path) -> None:
    """On another port and in another folder, for more than one run at a time."""
    shipped.write_text(SHIPPED.replace(":9092", ":0").replace("/tmp/", f"{tmp_path}/"))
    with serving("--config", str(shipped), "--json") as (process, ready):
        (broker,) = json.loads(ready)["brokers"]
        (address,) = broker["listeners"].values()
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic("t")])["t"].result(60)
        assert admin.list_topics(timeout=60).topics.keys() == {"t"}
        process.terminate()
        assert process.wait(60) == 0
    assert (tmp_path / "kraft-combined-logs" / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "num.partitions=0"], "num.partitions"),
        (["--set", "process.roles=controller"], "process.roles=broker,controller"),
        (["--set", "process.roles=controller", "--listen", "CONTROLLER://:9093"], "a controller without a broker"),
        (["--config", "/nowhere"], "/nowhere"),
        (["--listen", "SSL://127.0.0.1:0"], "SSL"),
        (["--racks", "a,b"], "--racks names 2"),
        (["--http", "nowhere:"], "--http wants HOST:PORT"),
        (["--http-name", "kafka"], "open it with --http"),
        (["--log-level", "LOUD"], "--log-level"),
    ],
)
def test_what_serve_would_refuse_is_refused(arguments: list[str], said: str, capsys) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, said in captured.err, "Traceback" in captured.err) == ("", True, False), captured.err


def test_a_misspelt_setting_is_asked_back(capsys) -> None:
    assert main(["--set", "log.retention.hour=1"]) == 0
    assert "did you mean log.retention.hours?" in capsys.readouterr().out


def test_it_needs_nothing_but_what_serve_needs() -> None:
    program = "import sys; sys.modules['typer'] = sys.modules['rich'] = None; sys.argv = ['pykbroker', 'check']; "
    program += "from pykbroker.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, "are good" in done.stdout) == (0, True), done.stderr
