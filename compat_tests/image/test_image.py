"""The image: what its Dockerfile makes serves its data as any user, with any command, and its commands find the folder."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from compat_tests.harness.process import ROOT
from compat_tests.image import real
from compat_tests.image.dockerfile import in_context, steps
from compat_tests.image.engine import Image

DOCKERFILE = ROOT / "Dockerfile"
#: Bytes of all files, as an engine counts them.
_LARGEST = 120_000_000
ELSEWHERE = ("serve", "--listen", "0.0.0.0:9094", "--advertise", "localhost:9094")
#: Folders that tests fill: the image's volume, and others where engines mount some.
VOLUMES = ("/var/lib/pykbroker", "/var/lib/kafka/data", "/etc/kafka/secrets", "/mnt/shared/config")


@pytest.fixture
def volume(image: Image | real.RealImage) -> str:
    """The folder of the log directory, empty as the other volumes."""
    image.empty(*VOLUMES)
    return VOLUMES[0]


@pytest.mark.parametrize(("user", "command"), [(None, ()), ("12345:0", ELSEWHERE), ("12345:12345", ())])
def test_it_serves_keeps_and_stops(
    image: Image | real.RealImage, volume: str, user: str | None, command: tuple[str, ...]
) -> None:
    port = "9094" if command else "9092"
    with image.container(*command, user=user) as container:
        assert f":{port}" in container.wait_for("^pykbroker ready")
        listed = container.execute("pykbroker", "brokers", "list")
        assert (listed.returncode, listed.stderr) == (0, "")
        assert f"localhost:{port}" in listed.stdout
        produced = container.execute("pykbroker", "produce", "-b", f"localhost:{port}", "orders", given="one\ntwo\n")
        assert produced.returncode == 0, produced.stderr
        consumed = container.execute("pykbroker", "consume", "-b", f"localhost:{port}", "orders", "-n", "2")
        assert consumed.stdout.split() == ["one", "two"], consumed.stderr
        found = container.execute("find", volume, "-name", "meta.properties").stdout
        assert len(found.splitlines()) == 1
        container.stop(signal.SIGTERM)


@pytest.mark.parametrize(
    ("command", "environment", "said"),
    [
        ((), {}, '{"status": "ready"}\n'),
        ((), {"PYKBROKER_HTTP": "off"}, "localhost:9092 (PLAINTEXT) serves\n"),
        (ELSEWHERE, {}, "localhost:9094 (PLAINTEXT) serves\n"),
    ],
    ids=["HTTP", "HTTP off", "serve"],
)
def test_it_is_well_while_it_serves(
    image: Image | real.RealImage, volume: str, command: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    words = re.search(r"CMD (\[.*\])", image.said["HEALTHCHECK"].text)
    assert words is not None
    asking = image.said["HEALTHCHECK"]._replace(text=words[1]).words()
    assert "--start-interval=1s" in image.said["HEALTHCHECK"].text
    image.remove("/run/pykbroker/ready.json")
    with image.container(*command, environment=environment) as container:
        container.wait_for("^pykbroker ready")
        container.wait_for(r"Kafka Server started")
        well = container.execute(*asking)
        assert (well.returncode, well.stdout) == (0, said)


def test_what_checks_of_health_and_tutorials_call_is_there(image: Image | real.RealImage, volume: str) -> None:
    with image.container() as container:
        container.wait_for("^pykbroker ready")
        for asked in (
            "cub kafka-ready -b localhost:9092 1 20 && kafka-topics --create --if-not-exists --topic t --bootstrap-server localhost:9092",
            "ub kafka-ready 1 20 -b localhost:9092",
            "nc -z localhost 9092",
            "nc -vz localhost 9092",
            "cub zk-ready zookeeper:2181 40",
            "zookeeper-server-start.sh zookeeper.properties && zookeeper-server-start zookeeper.properties",
            "timeout 10 kafka-broker-api-versions.sh --bootstrap-server localhost:9092 > /dev/null",
            "/opt/kafka/bin/kafka-topics.sh --bootstrap-server localhost:9092 --list | grep -q t",
            "exec 3<>/dev/tcp/localhost/9092",
        ):
            done = container.execute("bash", "-c", asked)
            assert done.returncode == 0, (asked, done.stderr)
        counted = "kafka-run-class kafka.tools.GetOffsetShell --broker-list localhost:9092 --topic t --time -1 | awk -F: '{sum += $3} END {print sum}'"
        assert container.execute("bash", "-c", counted).stdout == "0\n"
        assert container.execute("nc", "-z", "localhost", "9999").returncode == 1
        elsewhere = container.execute("connect-distributed.sh", "connect.properties")
        assert (elsewhere.returncode, "instead: Kafka Connect is a program beside" in elsewhere.stderr) == (1, True)
        stopped = container.execute("kafka-server-stop.sh", "config/server.properties")
        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert container.ended() == 0


def test_a_volume_with_lost_and_found_in_its_root_is_served(image: Image | real.RealImage, volume: str) -> None:
    image.make_folder(f"{volume}/lost+found", 0o700)
    with image.container() as container:
        container.wait_for("^pykbroker ready")


def test_settings_are_mounted_and_said_by_variables(image: Image | real.RealImage, volume: str) -> None:
    settings = "num.partitions=4\nlog.retention.hours=1\nlog.dirs=/tmp/kraft-combined-logs\n"
    image.write("/mnt/shared/config/server.properties", settings)
    said = {
        "KAFKA_LOG_RETENTION_HOURS": "2",
        "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
        "KAFKA_HEAP_OPTS": "-Xmx1G",
        "KAFKA_COLOUR": "red",
    }
    with image.container("/etc/kafka/docker/run", "KAFKA_NODE_ID=7", environment=said) as container:
        assert "colour" in container.wait_for("WARNING.*colour")
        container.wait_for(r"\[KafkaServer id=7\] started")
        at = ("--bootstrap-server", "localhost:9092")
        settings = container.execute("kafka-configs", *at, "--describe", "--broker", "7", "--all").stdout
        assert "\n  num.partitions=4 " in settings
        assert "\n  log.retention.hours=2 " in settings
        assert container.execute("kafka-cluster.sh", "cluster-id", *at).stdout == "Cluster ID: 4L6g3nShT-eMCtK--X86sw\n"
        assert "log.retention.hours=2" in container.execute("cat", "/opt/kafka/config/server.properties").stdout
    image.empty("/tmp")


def test_bad_settings_end_it_in_words(image: Image | real.RealImage, volume: str) -> None:
    with image.container(environment={"KAFKA_NUM_PARTITIONS": "many"}) as container:
        assert container.ended() == 2
        container.wait_for(r"^pykbroker: .*num\.partitions")


def test_its_files_are_few(namespaced: Image) -> None:
    own = [
        path for path in namespaced.place("/").iterdir() if path.name not in ("dev", "proc") and not path.is_symlink()
    ]
    files = [path for folder in own for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < _LARGEST


def test_no_tests_and_no_other_top_level_name_are_installed(namespaced: Image) -> None:
    (packages,) = namespaced.place("/usr/local/lib").glob("python3*/site-packages")
    (recorded,) = packages.glob("pykbroker-*.dist-info/RECORD")
    files = [line.partition(",")[0] for line in recorded.read_text().splitlines()]
    assert {name.split("/")[0] for name in files} - {"..", "__pycache__"} <= {"pykbroker", recorded.parent.name}
    assert not [name for name in files if "/tests/" in name]


def test_every_library_that_a_file_needs_is_there(namespaced: Image) -> None:
    """``ldd`` of this system, in the image's root."""
    root = namespaced.place("/")
    found = [path for path in (*root.glob("usr/bin/*"), *root.glob("usr/local/lib/**/*.so")) if not path.is_symlink()]
    loader = next(path for path in root.glob("usr/lib*/**/ld-linux*") if path.is_file())
    inside = [f"/{path.relative_to(root)}" for path in found if path.read_bytes()[:4] == b"\x7fELF"]
    check = f'for file in "$@"; do /{loader.relative_to(root)} --list "$file" | grep "not found" && echo "$file"; done; true'
    assert len(inside) > 60
    assert namespaced.as_root("sh", "-c", check, "sh", *inside) == ""


def test_what_is_needed_is_a_layer_before_the_sources() -> None:
    texts = [f"{step.instruction} {step.text}" for step in steps(DOCKERFILE)]
    (needed,) = (number for number, text in enumerate(texts) if "--requirement" in text)
    sources = [number for number, text in enumerate(texts) if text in ("COPY wire wire", "COPY pykbroker pykbroker")]
    assert len(sources) == 2
    assert needed < min(sources)


def test_what_runs_is_reached_by_signals() -> None:
    texts = {step.instruction: step.text for step in steps(DOCKERFILE)}
    assert texts["STOPSIGNAL"] == "SIGTERM"
    assert texts["ENTRYPOINT"].startswith("[")
    assert texts["CMD"].startswith("[")
    scripts = [
        ROOT / "scripts/image" / name
        for name in ("bin/entry", "bin/kafka-tool", "etc/kafka/docker/run", "etc/confluent/docker/run")
    ]
    for script in (*scripts, ROOT / "scripts/image/etc/confluent/docker/launch"):
        last = script.read_text().splitlines()[-1]
        assert last.startswith("exec "), script
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("pyproject.toml", True),
        ("setup.py", True),
        ("README.md", True),
        ("LICENSE", True),
        ("scripts/image/root.py", True),
        ("scripts/image/etc/kafka/docker/run", True),
        ("pykbroker/__init__.py", True),
        ("pykbroker/storage/log.py", True),
        ("wire/messages/fetch.py", True),
        (".git/config", False),
        (".venv/bin/python", False),
        ("build/jars/kafka/kafka-clients-4.4.0.jar", False),
        ("pykbroker-data/meta.properties", False),
        ("pykbroker.egg-info/PKG-INFO", False),
        ("pykbroker/tests/test_node.py", False),
        ("pykbroker/__pycache__/node.cpython-312.pyc", False),
        ("wire/tests/test_errors.py", False),
        ("compat_tests/conftest.py", False),
    ],
)
def test_what_the_builder_is_given(name: str, inside: bool) -> None:
    assert in_context(name, (Path(ROOT) / ".dockerignore").read_text()) is inside
