"""Every code block of README, of the pages beside it and in docs/ is run as it is printed, or says here why it is not.

Shell commands (``sh``) are run line by line in a folder with three brokers' ``pykbroker-data``, as on the reader's machine;
``scripts/serve`` and ``pykbroker serve`` are started, must say that they are ready, and are stopped. Python (``python``) is run
with the test's address in place of 127.0.0.1:9092, and by pytest, as a file by itself, where it has tests. A block that is no command is ``text``. ``ELSEWHERE`` has the others.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.harness import short_spark
from compat_tests.harness.clone import clone
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import ROOT
from compat_tests.snippets.blocks import Block, blocks, headings, links, pages
from compat_tests.snippets.isolation import all_free, own_network
from scripts.jars import classpath

#: Commands that are not run here, as regular expressions of the whole line, and why.
ELSEWHERE = {
    r"scripts/test\b.*": "it is what runs this test",
    r"scripts/demo\b.*": "compat_tests/demo runs it, with a kill",
    r"pip install '\.\[(cli|http)\]'.*": "compat_tests/packages installs the packages into empty environments",
    r"pip (wheel --no-deps --wheel-dir dist|install \"\$\(ls dist/pykbroker-).*": "compat_tests/packages builds the wheel and installs it",
    r"\.venv/bin/ruff check && .*": "scripts/test runs them first",
    r"pykbroker lake .*": "compat_tests/lake runs them, all in one Java process",
    r"pip install '\.\[(spark,schemas|registry)\]'.*": "scripts/test installs them before it runs this test",
    r"docker (build|run|exec|compose) .*": "compat_tests/image carries out the Dockerfile and what its page says",
}
#: What stands in a ``text`` block, by its first line.
TEXTS = {
    r"socket -> .*": "a picture of a request's way",
    r"authorizer\.class\.name=.*": "settings; compat_tests/authorization runs a broker with them",
    r"pykbroker acls add .*": "it needs a broker with an authorizer: pykbroker/tests/cli/test_acls.py has one",
    r"echo 'from pykbroker.__main__ import main; .*": "it needs a cluster; compat_tests/lake runs the commands in one machine",
    r"Principal = .*": "a line of the log; pykbroker/tests/security/test_authorizer.py compares it",
    r"scrape_configs:": "settings of Prometheus",
    r"listeners=INSIDE://.*": "a server.properties; compat_tests/security runs listeners of these kinds, in one broker",
    r"process\.roles=broker": "a server.properties; compat_tests/quorum runs brokers with such settings",
    r"listener\.security\.protocol\.map=CLIENTS:.*": "settings of listeners; compat_tests/quorum/test_secured.py runs a broker with such",
    r"bootstrap\.servers=broker\.example.*": "a file of a client; pykbroker/tests/cli/test_command_config.py has such",
    r"listener\.name\.users\.sasl\.enabled\.mechanisms=OAUTHBEARER": "settings of a listener; compat_tests/security runs one",
    r"apt-get install gcc .*": "what gssapi is compiled with; scripts/test does so for the tests",
    r"kadmin -q .*": "it needs a KDC; pykbroker/tests/kit/kerberos.py has one, and makes principals so",
    r"sasl\.kerberos\.service\.name=.*": "settings of a service; compat_tests/kerberos runs brokers with such",
    r"security\.protocol=SASL_SSL": "a client with a key table; compat_tests/kerberos has one",
    r"delegation\.token\.secret\.key=.*": "settings; compat_tests/security runs a broker with such",
    r"sasl\.mechanism=SCRAM-SHA-256": "a client that signs in by a token; pykbroker/tests/cli/test_tokens.py has one",
    r"E       AssertionError: assert \[b'order 0', .*": "compat_tests/worlds finds this bug, and others",
    r"pykbroker chaos --seeds 50 .*": "the reader's own program; pykbroker/tests/cli/test_chaos.py runs others",
    r"1 of 42 are enough, .*": "what the command before it prints",
    r"pykbroker verify --in orders .*": "it needs topics: pykbroker/tests/cli/test_verify.py has some",
    r"spark\.kafka\.clusters\..*": "settings of Spark; compat_tests/spark/test_delegation_token.py sets them",
    r"pykbroker serve (broker\.properties )?--schema-registry.*": "it needs ports of its own; compat_tests/registry serves so",
    r"echo '\{\"id\": 7, .*--value-schema .*": "it needs a registry: compat_tests/registry/test_values_of_commands.py has one",
    r"pykbroker schemas register .*": "it needs a registry: pykbroker/tests/cli/test_schemas.py has one",
    r"kafka-configs\.sh --bootstrap-server localhost:9092 --alter --group (work|counts) .*": "a tool of Kafka's",
    r"properties\.put\(StreamsConfig\..*": "settings of Kafka Streams; compat_tests/streams/test_streams_groups.py runs with them",
    r"var properties = new Properties\(\);": "docs/recipes/WorkQueueTest.java has such a worker; test_recipes.py runs it",
    r"pykbroker tokens create .*": "it needs a broker with a key: pykbroker/tests/cli/test_tokens.py has one",
}
_SERVE = re.compile(r"(scripts/serve|pykbroker serve)\b")
_ADDRESS = re.compile(r"(127\.0\.0\.1|localhost):9092")
#: How long one block may take: the first Spark session downloads its connector.
LIMIT_S = 600

ALL = [block for page in pages() for block in blocks(page)]
SHELL = [block for block in ALL if block.language == "sh"]
#: Those of the lake's page are run by compat_tests/lake, beside its commands.
PYTHON = [block for block in ALL if block.language == "python" and not block.place.startswith("docs/lake.md")]
PROGRAMS = [block for block in PYTHON if not re.search(r"^(async )?def test_", block.text, re.MULTILINE)]
TESTS = [block for block in PYTHON if block not in PROGRAMS]
SERVES = [(block.place, line) for block in SHELL for line in block.commands() if _SERVE.match(line)]


def as_a_process(line: str) -> list[str]:
    """The expressions of ``ELSEWHERE`` that mean this line."""
    return matching(ELSEWHERE, line)


def matching(reasons: dict[str, str], line: str) -> list[str]:
    return [expression for expression in reasons if re.fullmatch(expression, line)]


def of(chosen: list[Block]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", chosen, ids=[block.place for block in chosen])


def test_there_are_blocks_and_each_says_what_it_is() -> None:
    assert {block.place.partition(":")[0] for block in ALL} >= {"README.md", "CONTRIBUTING.md", "docs/operating.md"}
    assert [block.place for block in ALL if block.language not in ("sh", "python", "text")] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_what_is_there(page: Path) -> None:
    """To a file of this repository, and to a heading of it where one is named."""
    for target in links(page):
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not heading or heading in headings(file), target


def test_every_page_is_reached_from_the_readme() -> None:
    reached = {(ROOT / target.partition("#")[0]).resolve() for target in links(ROOT / "README.md")}
    assert {page for page in pages() if page.parent.name == "docs" and page.name != "README.md"} <= reached


def test_every_excuse_is_needed() -> None:
    lines = [line for block in SHELL for line in block.commands()]
    assert {expression for line in lines for expression in as_a_process(line)} == ELSEWHERE.keys()
    texts = [matching(TEXTS, block.text.partition("\n")[0]) for block in ALL if block.language == "text"]
    assert [] not in texts
    assert {expression for found in texts for expression in found} == TEXTS.keys()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder in which three brokers serve from ``pykbroker-data``, and the address of the first."""
    brokers = Pykbroker(tmp_path, brokers=3)
    brokers.data_dir = tmp_path / "pykbroker-data"
    brokers.start()
    yield tmp_path, brokers.bootstrap
    brokers.stop()


@of([block for block in SHELL if any(not _SERVE.match(line) and not as_a_process(line) for line in block.commands())])
def test_commands_do_what_they_say(block: Block, home: tuple[Path, str]) -> None:
    folder, bootstrap = home
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYKBROKER_BOOTSTRAP": bootstrap}
    for line in block.commands():
        if not _SERVE.match(line) and not as_a_process(line):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", line], cwd=folder, env=environment, timeout=LIMIT_S,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{line}\n{done.stdout}"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone whose virtual environment is made as ``scripts/serve`` makes it."""
    folder = clone(tmp_path_factory.mktemp("clone"))
    environment = {**os.environ, "PYTHON": os.path.realpath(sys.executable)}
    made = subprocess.run(
        # serve asks for any of these, and each is noted
        ["bash", "-euc", ". scripts/venv.sh; use_venv http; use_venv security; use_venv"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (folder / "server.properties").write_text(
        "listeners=PLAINTEXT://127.0.0.1:9092\nnum.partitions=3\nlog.dirs=kafka-logs\n"
    )
    return folder


@pytest.mark.parametrize(("place", "line"), SERVES, ids=[f"{place} {line}" for place, line in SERVES])
def test_brokers_start_as_printed(place: str, line: str, fresh: Path, tmp_path: Path) -> None:
    if not own_network() and not all_free([9092, 9093, 9094]):
        pytest.skip("port 9092 is in use, and this user cannot have a network of its own")
    environment = {**os.environ, "PATH": f"{fresh}/.venv/bin:{os.environ['PATH']}"}
    environment["PYKBROKER_DATA_DIR"] = str(tmp_path / "data")
    command = [*own_network(), "bash", "-c", f"exec {line}"]
    with subprocess.Popen(
        command, cwd=fresh, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            ready = process.stdout.readline()
            if not ready:
                pytest.fail(process.stderr.read())
            wanted = re.search(r"--brokers (\d+)", line)
            assert brokers_of(ready) == (int(wanted[1]) if wanted else 1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0
        finally:
            process.kill()


def brokers_of(ready: str) -> int:
    """How many brokers a line says are ready, the one for people or that of --json."""
    if ready.startswith("{"):
        return len(json.loads(ready)["brokers"])
    assert ready.startswith("pykbroker ready: ")
    return ready.count(" on ")


def spark_environment() -> dict[str, str]:
    """Spark's resolver takes what lies in a Maven repository of the user for whole, and it may not be: it gets one of its own,
    kept in build/, so that the connector is downloaded once.
    """
    return short_spark.environment(f"-Duser.home={ROOT / 'build' / 'snippets-home'}")


@of(TESTS)
def test_tests_pass(block: Block, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], cwd=tmp_path,
        env={**os.environ, **spark_environment(), "CLASSPATH": classpath("kafka")}, timeout=LIMIT_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= block.text.count("\ndef test_")
    assert "skipped" not in done.stdout


@of([block for block in PROGRAMS if not _ADDRESS.search(block.text)])
def test_programs_run(block: Block, tmp_path: Path) -> None:
    run_program(block.text, tmp_path)


@of([block for block in PROGRAMS if _ADDRESS.search(block.text)])
def test_programs_run_beside_a_broker(block: Block, home: tuple[Path, str]) -> None:
    folder, bootstrap = home
    flights = "".join(f'{carrier}:{{"delay": {delay}}}\n' for carrier, delay in (("UA", 7), ("DL", -2), ("B6", 31)))
    send = [sys.executable, "-m", "pykbroker", "produce", "flights", "-b", bootstrap, "--key-separator", ":"]
    subprocess.run(send, input=flights, text=True, check=True)
    said = run_program(_ADDRESS.sub(bootstrap, block.text), folder)
    if "spark" in block.text:
        assert re.search(r"\| *B6\| *\{\"delay\": 31\}\|", said), said


def run_program(text: str, folder: Path) -> str:
    """What it prints."""
    environment = {**os.environ, **spark_environment()}
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, env=environment, timeout=LIMIT_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
