"""The command line of serve, and the start and stop of the process it runs."""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pykbroker.cli.serve import _warn_if_exposed
from pykbroker.cli.serve_options import configuration, parser
from pykbroker.client.client import Client
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.storage.properties import load
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.api_versions import ApiVersionsResponse

#: An ApiVersions request of version 0.
API_VERSIONS = bytes.fromhex("0000000a 0012 0000 00000001 ffff")


def settings(*arguments: str):
    return configuration(parser().parse_args(arguments))


def test_defaults() -> None:
    config = settings()
    assert config["listeners"] == ("PLAINTEXT://127.0.0.1:9092",)
    assert config.log_dirs == ("pykbroker-data",)
    assert config.node_id == 1


def test_the_log_directory_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYKBROKER_DATA_DIR", "/from/environment")
    assert settings().log_dirs == ("/from/environment",)
    assert settings("--data-dir", "/from/option").log_dirs == ("/from/option",)
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/from/file\n")
    assert settings("--config", str(file)).log_dirs == ("/from/file",)
    monkeypatch.setenv("PYKBROKER_DATA_DIR", "")
    assert settings().log_dirs == ("pykbroker-data",)


def test_set_wins_over_the_file_and_options_over_both(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.retention.hours=1\nnum.partitions=3\nlisteners=PLAINTEXT://localhost:1\nlog.dirs=/from/file\n")
    config = settings(
        "--config", str(file), "--set", "num.partitions=7", "--listen", "127.0.0.1:0", "--data-dir", "/from/option"
    )
    assert config["log.retention.hours"] == 1
    assert config["num.partitions"] == 7
    assert config["listeners"] == ("PLAINTEXT://127.0.0.1:0",)
    assert config.log_dirs == ("/from/option",)


def test_listeners_are_advertised_in_their_order() -> None:
    config = settings(
        "--set", "listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT",
        "--set", "inter.broker.listener.name=IN",
        "--listen", "IN://127.0.0.1:0", "--listen", "OUT://0.0.0.0:9092",
        "--advertise", "127.0.0.1:9091", "--advertise", "kafka.example:9092",
    )  # fmt: skip
    assert [(listener.name, listener.host, listener.port) for listener in config.advertised_listeners] == [
        ("IN", "127.0.0.1", 9091),
        ("OUT", "kafka.example", 9092),
    ]


def test_the_address_by_which_clients_come_takes_the_place_of_one_that_is_set() -> None:
    config = settings("--set", "advertised.listeners=PLAINTEXT://a:1", "--advertise", "as-reached")
    assert config["advertised.listeners"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--advertise", "as-reached", "--advertise", "b:2"], "give it once"),
        (["--set", "num.partitions"], "NAME=VALUE"),
        (["--set", "num.partitions=none"], "num.partitions"),
        (["--set", "num.partitions=0"], "num.partitions"),
        (["--listen", "nowhere"], "NAME://HOST:PORT"),
        (["--advertise", "a:1", "--advertise", "b:2"], "2 times for 1 listener"),
    ],
)
def test_bad_settings_are_named(arguments: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("/", "\\/")):
        settings(*arguments)


def test_settings_are_those_of_the_release_that_it_is_taken_for() -> None:
    given = ("--set", "log.message.format.version=2.8-IV1")
    assert settings(*given).unknown == ("log.message.format.version",)
    assert settings("--as-version", "2.8", *given).unknown == ()


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A serve process that is ready, and its ready line."""
    with serving_by([sys.executable, "-m", "pykbroker", "serve", *arguments]) as served:
        yield served


@contextmanager
def serving_by(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


def refused(*arguments: str) -> tuple[int, str]:
    """Exit status and standard error of a serve that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "pykbroker", "serve", *arguments],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path)) as (process, ready):
        assert ready.startswith("pykbroker ready: broker 1 on 127.0.0.1:")
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        process.send_signal(number)
        assert process.wait(30) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize(("options", "told"), [([], "localhost"), (["--advertise", "as-reached"], "127.0.0.2")])
@pytest.mark.deep(but=1)
def test_clients_are_told_where_they_came(options: list[str], told: str) -> None:
    with serving("--ephemeral", "--listen", "0.0.0.0:0", *options) as (_, ready):
        port = int(ready.rpartition(":")[2])
        with Client([("127.0.0.2", port)], timeout_s=60) as client:
            (broker,) = client.metadata([]).brokers
    assert (broker.host, broker.port) == (told, port)


#: Serves, and gets a signal while it opens its data.
_SIGNALLED_AT_THE_START = """
import os, sys
from pykbroker.process import node
from pykbroker.cli.serve import main
opening = node._open_cluster
def signalled(*arguments, **options):
    os.kill(os.getpid(), int(sys.argv[1]))
    return opening(*arguments, **options)
node._open_cluster = signalled
sys.exit(main(["--listen", "127.0.0.1:0", "--data-dir", sys.argv[2]]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.deep(but=1)
def test_a_signal_stops_a_start_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", _SIGNALLED_AT_THE_START, str(int(number)), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize(
    ("line", "is_secret"),
    [
        ("ssl.key.password=x", True),
        ("listener.name.inside.ssl.keystore.key=x", True),
        ("listener.name.inside.scram-sha-256.sasl.jaas.config=x", True),
        ("delegation.token.secret.key=x", True),
        ("super.users=User:ssl.key.password", False),
        ("ssl.keystore.location=/ssl.keystore.key", False),
        ("not.known.to.anybody=x", False),
    ],
)
def test_a_file_with_secrets_that_others_may_read_is_told(tmp_path: Path, caplog, line: str, is_secret: bool) -> None:
    file = tmp_path / "server.properties"
    file.write_text(line)
    file.chmod(0o644)
    _warn_if_exposed(file, BrokerConfig(load(file)))
    assert (f"{file} holds secrets" in caplog.text) is is_secret


def test_several_brokers_are_named_in_one_line() -> None:
    with serving("--listen", "127.0.0.1:0", "--ephemeral", "--brokers", "3") as (_, ready):
        assert [part.split()[1] for part in ready.removeprefix("pykbroker ready: ").split(", ")] == ["1", "2", "3"]


def test_more_clients_than_the_soft_limit_of_open_files() -> None:
    """Shells give 1,024 descriptors, often; a broker takes what it may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit, clients = 64, 100
    assert hard > limit + clients
    serve = [sys.executable, "-m", "pykbroker", "serve", "--listen", "127.0.0.1:0", "--ephemeral"]
    with serving_by(["sh", "-c", f'ulimit -Sn {limit}; exec "$@"', "sh", *serve]) as (_, ready):
        port = int(ready.rpartition(":")[2])
        with ExitStack() as open_sockets:
            sockets = [
                open_sockets.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(clients)
            ]
            for each in sockets:
                each.sendall(API_VERSIONS)
                assert each.recv(4)


def test_an_ephemeral_broker_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving("--listen", "127.0.0.1:0", "--ephemeral") as (process, _):
        assert list(tmp_path.iterdir())
        process.terminate()
        assert process.wait(30) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, said = refused("--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--data-dir", str(tmp_path))
    assert status == 1
    assert "choose another port" in said


def test_a_log_directory_in_use_is_told(tmp_path: Path) -> None:
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path)):
        status, said = refused("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path))
    assert status == 1
    assert "in use by another broker" in said


def test_a_log_directory_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    status, said = refused("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "file"))
    assert status == 1
    assert str(tmp_path / "file") in said


@pytest.mark.deep
def test_the_folder_of_another_node_keeps_its_node_id(tmp_path: Path) -> None:
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--set", "node.id=7") as (process, ready):
        assert "broker 7" in ready
        process.terminate()
        process.wait(30)
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path)) as (_, ready):
        assert "broker 7" in ready
    status, said = refused("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--set", "node.id=8")
    assert status == 1
    assert "node.id 7" in said


def test_a_listener_whose_security_cannot_be_had_is_told() -> None:
    status, said = refused("--listen", "SSL://127.0.0.1:0", "--ephemeral")
    assert status == 1
    assert "listener SSL (SSL): TLS needs a key: set ssl.keystore.location" in said


def test_an_authorizer_of_ones_own_is_refused_rather_than_ignored() -> None:
    status, said = refused("--listen", "127.0.0.1:0", "--ephemeral", "--set", "authorizer.class.name=some.Authorizer")
    assert status == 1
    assert "authorizer.class.name asks for some.Authorizer: classes of Java are not run here" in said


def highest_fetch(address: str) -> int:
    """The highest version of Fetch that is listed at an address."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port))) as client, client.makefile("rb") as stream:
        client.sendall(API_VERSIONS)
        answer = stream.read(int.from_bytes(stream.read(4), "big"))
    listed, _ = ApiVersionsResponse.decode(memoryview(answer), 4, 0)
    return next(api.max_version for api in listed.api_keys if api.api_key == ApiKey.FETCH)


@pytest.mark.parametrize(("given", "highest"), [(("--as-version", "2.8"), 12), ((), 18)])
def test_it_is_taken_for_the_release_that_is_named(given: tuple[str, ...], highest: int) -> None:
    with serving("--ephemeral", "--listen", "127.0.0.1:0", *given) as (_, ready):
        assert highest_fetch(ready.split()[-1]) == highest


def test_an_unknown_release_is_told() -> None:
    status, said = refused("--ephemeral", "--as-version", "2.7")
    assert (status, "write one of 2.8, 3.9, 4.3, 4.4" in said) == (2, True), said


def test_the_ready_line_is_one_write() -> None:
    """The log may go to the same file, and a line of it must not come in between. A datagram is what one write sends."""
    source = "from pykbroker.cli import serve; serve._say('ready')"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        subprocess.run([sys.executable, "-u", "-c", source], stdout=theirs, check=True)
        assert ours.recv(100) == b"ready\n"


_LEAN = """
import asyncio, gc, os, signal, sys
from pykbroker.cli import serve
from pykbroker.__main__ import main
def ready(node):
    told = [gc.isenabled(), sorted({{{names}}} & sys.modules.keys())]
    asyncio.get_running_loop().call_soon(lambda: (print(told, gc.isenabled(), gc.get_freeze_count() > 0), os.kill(os.getpid(), signal.SIGTERM)))
serve._say_ready = ready
sys.argv = ["pykbroker", "serve", "--listen", "127.0.0.1:0", "--data-dir", {folder!r}]
main()
"""


def test_a_start_imports_nothing_that_it_does_not_use_and_collects_no_garbage(tmp_path: Path) -> None:
    """shutil, pickle and the tables of IDNA came with other things, plans for topics and Metadata are of the first request."""
    names = ", ".join(
        repr(name)
        for name in (
            "shutil",
            "pickle",
            "unicodedata",
            "pykbroker.controller.topics",
            "pykbroker.wire.messages.metadata",
        )
    )
    program = _LEAN.format(names=names, folder=str(tmp_path / "data"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "[False, []] True True\n"), done.stderr
