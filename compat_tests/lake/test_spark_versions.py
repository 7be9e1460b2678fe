"""The lake's commands on another version of PySpark, in a folder of its own, with the connector of that version.

PYKBROKER_SPARK names versions (``4.0.5,4.1.4``). Without it, the newest of the other line runs, and in long runs the newest of both.
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
from pykbroker.lake.description import Format
from pykbroker.lake.spark_versions import connector, packages
from scripts.jars import JARS, POMS, jars

NEWEST = "4.0.5,4.1.4" if LONG else "4.1.4"
VERSIONS = [each for each in os.environ.get("PYKBROKER_SPARK", NEWEST).split(",") if each]
FOLDER = ROOT / "build" / "pyspark"
TABLES = (Format.DELTA, Format.ICEBERG)
#: Of a run without the variable, the one that asks most of Spark; the others take two minutes of CPU time.
FORMATS = list(Format) if LONG or "PYKBROKER_SPARK" in os.environ else [Format.ICEBERG]
#: Runs commands one after the other in one process, which starts Java once, and prints the status and the output of each.
IN_ONE_PROCESS = """
import contextlib, io, json, sys
from pykbroker.__main__ import main

for words in json.loads(sys.argv[1]):
    sys.argv, output, status = ["pykbroker", "lake", *words], io.TextIOWrapper(io.BytesIO(), "utf-8"), 0
    try:
        with contextlib.redirect_stdout(output):
            main()
    except SystemExit as end:
        status = end.code or 0
    output.flush()
    print(json.dumps([status, output.buffer.getvalue().decode()]), flush=True)
"""


def installed(version: str) -> Path:
    """The folder with this version of PySpark. py4j is that of the environment, which all of Spark 4 use. Skips the test where it cannot be
    installed.
    """
    folder = FOLDER / version
    if not (folder / "pyspark" / "version.py").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", str(folder)]
        done = subprocess.run([*pip, f"pyspark=={version}"], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"PySpark {version} cannot be installed: {done.stderr.strip()[-300:]}")
    return folder


def connector_jars(version: str) -> list[Path]:
    """Its connector; the token provider, which is for delegation tokens, does for all versions."""
    wanted = connector(version).rpartition(":")[2]
    pom = JARS / f"spark-{wanted}.xml"
    begin, name, end = (POMS / "spark.xml").read_text().partition("spark-sql-kafka-0-10_2.13</artifactId>")
    pom.write_text(begin + name + end.replace("4.0.0", wanted, 1))
    return jars(f"spark-{wanted}", pom)


def format_jars(version: str) -> list[Path]:
    """Delta Lake and Iceberg for its line."""
    pom = (POMS / "lake.xml").read_text()
    for old, new in zip(packages("4.0.0", TABLES), packages(version, TABLES), strict=True):
        (_, name, number), (_, new_name, new_number) = old.split(":"), new.split(":")
        pom = pom.replace(f"{name}</artifactId><version>{number}", f"{new_name}</artifactId><version>{new_number}")
        if name.startswith("delta-spark"):  # its other half has the same number
            pom = pom.replace(
                f"delta-storage</artifactId><version>{number}", f"delta-storage</artifactId><version>{new_number}"
            )
    line = version[:3]
    made = JARS / f"lake-{line}.xml"
    made.write_text(pom)
    return jars(f"lake-{line}", made)


def commands(version: str, words: list[list[str]]) -> list[tuple[int, str]]:
    """The status and the output of each."""
    files = ",".join(map(str, connector_jars(version) + format_jars(version)))
    environment = {**os.environ, "PYTHONPATH": f"{installed(version)}:{ROOT}", "PYKBROKER_SPARK_JARS": files}
    small = ["--master", "local[1]", *(word for name, value in SMALL.items() for word in ("--conf", f"{name}={value}"))]
    command = [sys.executable, "-c", IN_ONE_PROCESS, json.dumps([[*each, *small] for each in words])]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    results = [(status, output) for status, output in map(json.loads, done.stdout.splitlines())]
    assert len(results) == len(words), done.stderr
    assert not any(status for status, _ in results), [results, done.stderr]
    return results


@pytest.mark.skipif(not VERSIONS, reason="PYKBROKER_SPARK names versions of PySpark, as 4.0.5,4.1.4")
@pytest.mark.parametrize("version", VERSIONS)
def test_every_command_runs(version: str, topics: Topics, tmp_path: Path) -> None:
    """With each format of tables, in one process."""
    at = ["-b", topics.bootstrap]
    words: dict[Format, list[list[str]]] = {}
    for table in FORMATS:
        topic = topics.create(2, retention_ms="-1")
        lake = str(tmp_path / table)
        archive = ["archive", "--topics", topic, "--to", lake, "--format", table, "--json", *at]
        topics.send(topic, ['{"a": 1}', '{"a": 2}', "no json"], 0)
        words[table] = [
            archive,
            archive,  # goes on from the checkpoint, and finds nothing new
            ["decode", lake, "--as", "json", "--json"],
            ["replay", lake, "--prefix", "again-", "--name", topic, "--json", *at],
            ["compact", lake, "--json"],
            ["verify", lake, "--json", *at],
            ["profile", lake, "--to", str(tmp_path / f"{table}.html"), "--json"],
        ]
    outputs = iter(commands(version, [each for of_table in words.values() for each in of_table]))
    for table, lines in words.items():
        first, again, decoded, replay, *_ = [json.loads(next(outputs)[1]) for _ in lines]
        assert (first["rows"], again["rows"]) == (3, 0), table
        counts = [(each["decoded"], each["quarantined"]) for each in decoded["topics"]]
        assert (counts, replay["rows"]) == ([(2, 1)], 3), table
        assert len(topics.receive(f"again-{lines[0][2]}")) == 3, table


@pytest.mark.parametrize(
    ("version", "jars", "said"),
    [
        ("3.5.9", "", "PySpark 3.5.9 is installed, and the lake runs on Spark 4.0 and 4.1"),
        ("4.1.4", "iceberg-spark-runtime-4.0_2.13-1.10.0.jar", "is for Spark 4.0, and PySpark 4.1.4 is installed"),
    ],
)
def test_other_versions_are_refused_before_spark_starts(
    tmp_path: Path, topics: Topics, version: str, jars: str, said: str
) -> None:
    """As far as a PySpark says its version; it needs no Java."""
    package = tmp_path / "pyspark"
    package.mkdir()
    (package / "__init__.py").write_text(f"__version__ = {version!r}")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [
        *(sys.executable, "-m", "pykbroker", "lake", "archive", "--topics", "t", "--jars", jars),
        *("--to", str(tmp_path / "lake"), "-b", topics.bootstrap),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
