"""``serve --http``: beside the broker from its first to its last moment, or refused with what to do."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pykbroker.tests.cli.test_serve import refused, serving


def test_it_is_where_the_ready_line_says(tmp_path: Path) -> None:
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--http", "0") as (process, ready):
        address = ready.rpartition("; HTTP at ")[2].strip()
        with urllib.request.urlopen(f"http://{address}/ready") as answer:
            assert json.load(answer) == {"status": "ready"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_programs_are_told_too() -> None:
    with serving("--listen", "127.0.0.1:0", "--ephemeral", "--http", "localhost:0", "--json") as (_, ready):
        assert json.loads(ready)["http"].startswith("localhost:")
    with serving("--listen", "127.0.0.1:0", "--ephemeral", "--json") as (_, ready):
        assert "http" not in json.loads(ready)


@pytest.mark.deep(but=3)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--http", "nowhere"], "--http wants HOST:PORT"),
        (["--http", "0", "--http-token-file", "/nowhere"], "--http-token-file /nowhere cannot be read"),
        (["--http-name", "broker.example"], "open it with --http"),
        (["--schema-registry", "http://sr:8081"], "open the HTTP side with --http"),
        (["--http", "0", "--schema-registry", "ftp://sr"], "--schema-registry wants http://HOST:PORT"),
        (["--schema-registry", "localhost:99999"], "--schema-registry wants [HOST:]PORT"),
        (["--clock", "manual"], "--clock manual needs --http, whose API moves the clock"),
        (["--http", "0", "--listen", "SSL://127.0.0.1:0"], "SSL (SSL) are protected"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_opened(tmp_path: Path, options: list[str], said: str) -> None:
    status, error = refused("--data-dir", str(tmp_path / "data"), *options)
    assert (status, said in error, "Traceback" in error) == (2, True, False), error
    assert not (tmp_path / "data").exists()


@pytest.mark.deep
def test_a_port_that_is_taken_is_said_and_the_data_are_closed_in_good_order(tmp_path: Path) -> None:
    with serving("--listen", "127.0.0.1:0", "--ephemeral", "--http", "0") as (_, ready):
        address = ready.rpartition("; HTTP at ")[2].strip()
        status, error = refused("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--http", address)
    assert (status, f"cannot listen for HTTP on {address}: the port is in use" in error) == (1, True), error
    assert (tmp_path / ".kafka_cleanshutdown").exists()


_WITHOUT = """
import sys
sys.modules[{missing!r}] = None
from pykbroker.cli.serve import main
sys.exit(main(["--listen", "127.0.0.1:0", "--ephemeral", "--http", "0"]))
"""


@pytest.mark.parametrize("missing", ["aiohttp", "prometheus_client"])
def test_a_package_that_is_missing_is_named(missing: str) -> None:
    command = [sys.executable, "-c", _WITHOUT.format(missing=missing)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert f"--http needs the package {missing}: run  pip install" in done.stderr


def test_without_it_nothing_of_it_is_imported() -> None:
    program = """
import sys, threading, os, signal
from pykbroker.cli import serve
from pykbroker.requests.pipeline import Place
def ready(node):
    loaded = [name for name in sys.modules if name.split(".")[0] in ("aiohttp", "prometheus_client") or name.startswith("pykbroker.http")]
    print(loaded, node.server.dispatcher.places.reads_size, node.server.dispatcher.places.fills(Place.MEASURE))
    os.kill(os.getpid(), signal.SIGTERM)
serve._say_ready = ready
sys.exit(serve.main(["--listen", "127.0.0.1:0", "--ephemeral"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, "[] False False\n"), done.stderr
