"""The lake's commands on later versions of PySpark, each in a folder of its own, with the connector of that version.

PYKBROKER_SPARK names the versions (``4.0.2,4.1.1``). Without it, the newest of each line runs in long runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.conftest import LONG
from compat_tests.harness.process import ROOT
from compat_tests.lake.conftest import SMALL
from compat_tests.spark.topics import Topics
from pykbroker.lake.spark_versions import connector
from scripts.jars import JARS, POMS, jars

NEWEST = "4.0.5,4.1.4" if LONG else ""
VERSIONS = [each for each in os.environ.get("PYKBROKER_SPARK", NEWEST).split(",") if each]
FOLDER = ROOT / "build" / "pyspark"


def installed(version: str) -> Path:
    """The folder with this version of PySpark. py4j is that of the environment, which all of Spark 4 use."""
    folder = FOLDER / version
    if not (folder / "pyspark" / "version.py").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", str(folder)]
        subprocess.run([*pip, f"pyspark=={version}"], check=True)
    return folder


def connector_jars(version: str) -> list[Path]:
    """Its connector; the token provider, which is for delegation tokens, does for all versions."""
    wanted = connector(version).rpartition(":")[2]
    pom = JARS / f"spark-{wanted}.xml"
    begin, name, end = (POMS / "spark.xml").read_text().partition("spark-sql-kafka-0-10_2.13</artifactId>")
    pom.write_text(begin + name + end.replace("4.0.0", wanted, 1))
    return jars(f"spark-{wanted}", pom)


def commands(version: str, words: list[list[str]]) -> list[subprocess.CompletedProcess[str]]:
    environment = {
        **os.environ, "PYTHONPATH": f"{installed(version)}:{ROOT}", "PYKBROKER_SPARK_JARS": ",".join(map(str, connector_jars(version))),
    }  # fmt: skip
    small = ["--master", "local[1]", *(word for name, value in SMALL.items() for word in ("--conf", f"{name}={value}"))]
    base = [sys.executable, "-m", "pykbroker", "lake"]
    return [
        subprocess.run([*base, *each, *small], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        for each in words
    ]


@pytest.mark.skipif(not VERSIONS, reason="PYKBROKER_SPARK names versions of PySpark, as 4.0.5,4.1.4")
@pytest.mark.parametrize("version", VERSIONS)
def test_every_command_runs(version: str, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(2, retention_ms="-1")
    topics.send(topic, ['{"a": 1}', '{"a": 2}', "no json"], 0)
    lake, at = str(tmp_path / "lake"), ["-b", topics.bootstrap]
    done = commands(
        version,
        [
            ["archive", "--topics", topic, "--to", lake, "--json", *at],
            ["verify", lake, *at],
            ["decode", lake, "--as", "json", "--json"],
            ["replay", lake, "--prefix", "again-", "--name", topic, "--json", *at],
            ["compact", lake],
            ["profile", lake, "--to", str(tmp_path / "page.html")],
        ],
    )
    for each in done:
        assert each.returncode == 0, [*each.args, each.stderr]
    assert json.loads(done[0].stdout)["rows"] == 3
    decoded = json.loads(done[2].stdout)["topics"][0]
    assert (decoded["decoded"], decoded["quarantined"]) == (2, 1)
    assert json.loads(done[3].stdout)["rows"] == 3
    assert len(topics.receive(f"again-{topic}")) == 3


def test_other_versions_are_refused_before_spark_starts(tmp_path: Path, topics: Topics) -> None:
    """As far as a PySpark says its version; it needs no Java."""
    package = tmp_path / "pyspark"
    package.mkdir()
    (package / "__init__.py").write_text('__version__ = "3.5.9"')
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [
        *(sys.executable, "-m", "pykbroker", "lake", "archive", "--topics", "t"),
        "--to",
        str(tmp_path / "lake"),
        "-b",
        topics.bootstrap,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "PySpark 3.5.9 is installed, and the lake runs on Spark 4.0 and 4.1" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
