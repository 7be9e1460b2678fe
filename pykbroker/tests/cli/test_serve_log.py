"""What `pykbroker serve` tells its operator, and that telling never holds it up."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.cli.serve_options import log_levels, parser
from pykbroker.config.setting import ConfigError
from pykbroker.tests.cli.test_serve import API_VERSIONS, refused, serving, settings
from pykbroker.tests.cli.test_serve_directories import LISTEN, ask, create, ended, produced
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def port_of(ready: str) -> int:
    return int(ready.rpartition(":")[2])


def test_the_start_what_changes_and_the_stop_are_told(tmp_path: Path) -> None:
    with serving(*LISTEN, "--data-dir", str(tmp_path)) as (process, ready):
        ask(
            ready,
            create("t"),
            (
                IncrementalAlterConfigsRequest(
                    [AlterConfigsResource(2, "t", [AlterableConfig("retention.ms", 0, "1000")])]
                ),
                1,
                IncrementalAlterConfigsResponse,
            ),
            (DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5, DeleteTopicsResponse),
        )
        said = ended(process)
    cluster_id = next(
        line.partition("=")[2]
        for line in (tmp_path / "meta.properties").read_text().splitlines()
        if line.startswith("cluster.id=")
    )
    for line in (
        "pykbroker 0.",
        f"Log directory {tmp_path} ",
        f"Cluster {cluster_id} has 0 topics",
        f"clients are told PLAINTEXT://127.0.0.1:{port_of(ready)}",
        "Created 1 topic: t (1 partition, 1 replica)",
        "Settings of topic t are now retention.ms=1000",
        "Deleted 1 topic: t",
        "Shutting down: received SIGTERM",
        "Clean shutdown: ",
    ):
        assert line in said


def test_many_like_things_are_one_line(tmp_path: Path) -> None:
    from pykbroker.tests.cli.test_serve_directories import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse

    many = [CreatableTopic(f"t{number}", 3, 1) for number in range(60)]
    with serving(*LISTEN, "--data-dir", str(tmp_path)) as (process, ready):
        ask(ready, (CreateTopicsRequest(many, 1000), 7, CreateTopicsResponse))
        said = ended(process)
    # A line for each part in which a request of many topics is carried out.
    assert len([line for line in said.splitlines() if "Created " in line]) == 3
    assert "Created 20 topics: t0 (3 partitions, 1 replica)" in said
    assert "and 15 more" in said


def test_a_log_that_nobody_reads_holds_up_nobody() -> None:
    """A pipe takes 64 KiB, which are some hundred lines; each of these connections is worth one of those that tell of it, and a line that it was accepted."""
    with serving(*LISTEN, "--ephemeral", "--verbose") as (process, ready):
        for _ in range(1500):
            with socket.create_connection(("127.0.0.1", port_of(ready)), timeout=10) as bad:
                bad.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port_of(ready)), timeout=10) as good:
            good.sendall(API_VERSIONS)
            assert good.recv(4)
        said = ended(process)
    left_out = sum(map(int, re.findall(r"(\d+) more lines of pykbroker\.network\.connection are left out here", said)))
    assert said.count("it speaks HTTP") + left_out == 1500


@pytest.mark.deep
def test_quiet_and_verbose(tmp_path: Path) -> None:
    with serving(*LISTEN, "--data-dir", str(tmp_path), "--quiet") as (process, ready):
        ask(ready, create("t"))
        assert ended(process) == ""
    with serving(*LISTEN, "--data-dir", str(tmp_path), "--verbose") as (process, ready):
        assert produced(ready) == (0, 0)
        said = ended(process)
    assert re.search(r"Connection from 127\.0\.0\.1:\d+ on listener \w+ accepted", said)
    assert "Request PRODUCE v9 from 127.0.0.1:" in said
    with serving(
        *LISTEN, "--data-dir", str(tmp_path), "--log-level", "ERROR", "--log-level", "pykbroker.requests=debug"
    ) as (process, ready):
        assert produced(ready) == (0, 1)
        said = ended(process)
    assert {line.split()[3].rstrip(":") for line in said.splitlines()} == {"pykbroker.requests.dispatcher"}


def test_levels_that_are_none() -> None:
    assert log_levels(parser().parse_args(["--log-level", "a.b=TRACE"])) == (20, {"a.b": 5})
    for bad in ("loud", "=INFO", "a=", "a=loud"):
        with pytest.raises(ConfigError, match="LOGGER=LEVEL"):
            log_levels(parser().parse_args(["--log-level", bad]))
    assert refused("--log-level", "loud")[0] == 2


def test_ready_in_json(tmp_path: Path) -> None:
    with serving("--listen", "[::1]:0", "--listen", "127.0.0.1:0", "--json", "--data-dir", str(tmp_path)) as (
        process,
        line,
    ):
        ready = json.loads(line)
        assert ready["pid"] == process.pid
        assert ready["log_dirs"] == [str(tmp_path)]
        assert len(ready["cluster_id"]) == 22
        (broker,) = ready["brokers"]
        assert broker["listeners"]["PLAINTEXT"].startswith("[::1]:")
        assert broker["listeners"]["PLAINTEXT2"].startswith("127.0.0.1:")
        with socket.create_connection(("127.0.0.1", port_of(broker["listeners"]["PLAINTEXT2"])), timeout=10) as peer:
            peer.sendall(API_VERSIONS)
            assert peer.recv(4)


def test_an_address_of_ipv6_is_announced_in_brackets() -> None:
    with serving("--listen", "[::1]:0", "--ephemeral") as (_, ready):
        assert "broker 1 on [::1]:" in ready


def test_listeners_without_a_name_get_one() -> None:
    config = settings("--listen", "a:1", "--listen", "PLAINTEXT2://b:2", "--listen", "c:3")
    assert [listener.name for listener in config.listeners] == ["PLAINTEXT", "PLAINTEXT2", "PLAINTEXT3"]
    assert {listener.security_protocol for listener in config.listeners} == {"PLAINTEXT"}


@pytest.mark.deep
def test_addresses_that_cannot_be_had_are_told() -> None:
    for address, told in (
        ("nowhere.invalid:0", "the host nowhere.invalid cannot be resolved"),
        ("192.0.2.1:0", "192.0.2.1 is not an address of this machine"),
        ("SASL_PLAINTEXT://127.0.0.1:0", "listener.name.sasl_plaintext.gssapi.sasl.jaas.config is not set"),
        ("SASL_SSL://127.0.0.1:0", "TLS needs a key"),
    ):
        status, said = refused("--listen", address, "--ephemeral", "--quiet")
        assert status == 1
        assert told in said


def test_a_closed_terminal_stops_cleanly(tmp_path: Path) -> None:
    with serving(*LISTEN, "--data-dir", str(tmp_path)) as (process, _):
        process.send_signal(signal.SIGHUP)
        assert process.wait(30) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_nohup_is_respected(tmp_path: Path) -> None:
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "pykbroker", "serve", *LISTEN]
    with subprocess.Popen(
        [*command, "--data-dir", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            ready = process.stdout.readline()
            process.send_signal(signal.SIGHUP)
            ask(ready, create("t"))
            assert produced(ready) == (0, 0)
            ended(process)
        finally:
            process.kill()


#: A parent that starts a broker, says where it is, and waits to be killed.
_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "pykbroker", "serve", *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
print(child.pid, child.stdout.readline(), flush=True)
sys.stdin.read()
"""


def test_the_end_of_the_parent_ends_the_broker_and_its_folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, *LISTEN, "--ephemeral", "--exit-with-parent"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert "ready" in parent.stdout.readline()
        assert list(tmp_path.iterdir())
        parent.kill()
        parent.wait(10)
        until_in_thread(lambda: not list(tmp_path.iterdir()))
        assert "has ended" in parent.stderr.read()


@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        ("process.roles=controller", 1, "process.roles=controller asks for a controller without a broker"),
        ("process.roles=broker", 1, "set controller.quorum.bootstrap.servers=HOST:PORT"),
        ("controller.quorum.voters=1@a:9093,2@b:9093", 1, "asks for a quorum that is not this node 1 alone"),
        ("controller.quorum.voters=7@localhost:9093", 1, "asks for a quorum that is not this node 1 alone"),
    ],
)
@pytest.mark.deep(but=1)
def test_a_cluster_elsewhere_is_refused(given: str, status: int, told: str) -> None:
    found, said = refused(*LISTEN, "--ephemeral", "--set", given)
    assert found == status
    assert told in said


def test_what_has_no_effect_is_told_in_a_line_each() -> None:
    given = {
        "process.roles": "broker,controller",
        "controller.quorum.bootstrap.servers": "far.example:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://:9093",
        "log.retention.hors": "3",
        "nothing.like.it": "1",
        "remote.log.storage.system.enable": "true",
    }
    with serving("--ephemeral", *(f"--set={name}={value}" for name, value in given.items())) as (process, _):
        said = ended(process)
    for line in (
        "controller.quorum.bootstrap.servers names far.example:9093, and this broker does not connect to it",
        "The controller's listener CONTROLLER://:9093 is not opened",
        "log.retention.hors is not known to Kafka 4.4 and is ignored: did you mean log.retention.hours?",
        "The setting nothing.like.it is not known to Kafka 4.4 and is ignored\n",
        "The setting remote.log.storage.system.enable has no effect",
    ):
        assert said.count(line) == 1


def test_the_settings_of_an_image_start_with_one_line_about_the_controller() -> None:
    """Those that Testcontainers gives to Kafka's image."""
    given = {
        "listeners": "PLAINTEXT://0.0.0.0:0,BROKER://127.0.0.1:0,CONTROLLER://127.0.0.1:9094",
        "advertised.listeners": "PLAINTEXT://localhost:32768,BROKER://127.0.0.1:9093",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "node.id": "1",
        "controller.quorum.voters": "1@localhost:9094",
    }
    with serving("--ephemeral", *(f"--set={name}={value}" for name, value in given.items())) as (process, _):
        said = ended(process)
    assert said.count("WARNING") == 1


def test_version_and_advice_without_the_extras() -> None:
    hidden = "import sys; sys.modules.update(typer=None, rich=None); sys.argv[1:] = {}; "
    run = "from pykbroker.__main__ import main; main()"
    for arguments, status, told in (
        (["--version"], 0, "pykbroker 0."),
        (["topics"], 1, "pip install '.[cli]'"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", hidden.format(arguments) + run], capture_output=True, text=True, check=False
        )
        assert done.returncode == status
        assert told in done.stdout + done.stderr
