"""Spark's resolver, where Maven's local folder has the description of a package without its jar, as Maven leaves it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from compat_tests.conftest import takes_long
from compat_tests.harness.process import ROOT
from compat_tests.lake.conftest import SMALL
from compat_tests.spark.topics import Topics

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>3.9.0</version></project>
"""


@takes_long
def test_a_package_without_its_jar_is_downloaded(topics: Topics, tmp_path: Path) -> None:
    """It downloads Spark's connector, into a home folder of its own."""
    topic = topics.create()
    topics.send(topic, range(3))
    lonely = tmp_path / ".m2" / "repository" / "org" / "apache" / "kafka" / "kafka-clients" / "3.9.0"
    lonely.mkdir(parents=True)
    (lonely / "kafka-clients-3.9.0.pom").write_text(POM)
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": f"-Duser.home={tmp_path}"}
    environment.pop("PYKBROKER_SPARK_JARS", None)
    command = [
        *(sys.executable, "-m", "pykbroker", "lake", "archive", "--topics", topic, "--to", str(tmp_path / "lake")),
        *("-b", topics.bootstrap, "--master", "local[1]"),
        *(word for name, value in SMALL.items() for word in ("--conf", f"{name}={value}")),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 rows added" in done.stdout
