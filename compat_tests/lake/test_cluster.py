"""The commands of ``pykbroker lake`` on a cluster: Spark's local-cluster mode, whose executors are processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.process import ROOT, BrokerProcess
from compat_tests.spark.topics import Topics
from scripts.jars import jars

MASTER = "local-cluster[2,1,1024]"
ROWS = 2000


@takes_long
@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
def test_every_command_runs_on_executors(start_target: Callable[..., BrokerProcess], tmp_path: Path, form: str) -> None:
    bootstrap = start_target().bootstrap
    topics = Topics(bootstrap)
    topics.create(4, name="flights", retention_ms="-1")
    for partition in range(4):
        topics.send("flights", [json.dumps({"delay": number}) for number in range(ROWS // 4)], partition, key=b"UA")

    def lake(*words: str, at: str = bootstrap) -> str:
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        files = ",".join(map(str, jars("spark") + jars("lake")))
        command = [sys.executable, "-m", "pykbroker", "lake", *words, "--master", MASTER, "--jars", files]
        memory = ["--conf", "spark.driver.memory=1g", "--conf", "spark.executor.memory=1g"]
        environment = {
            **os.environ, "PYKBROKER_BOOTSTRAP": at, "SPARK_HOME": str(Path(spec.origin).parent), "TMPDIR": str(tmp_path),
            "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        done = subprocess.run(
            [*command, *memory], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    assert f"{ROWS:,} rows added" in lake("archive", "--topics", "flights", "--to", "lake", "--format", form)
    assert f"equal: {ROWS:,} rows of 4 partitions" in lake("verify", "lake")
    assert f"flights\t{ROWS}\t0\tdelay" in lake("decode", "lake", "--as", "json", "--key", "text")
    assert f"1 topic, {ROWS:,} records" in lake("profile", "lake")
    fresh = start_target().bootstrap
    assert f"{ROWS:,} rows replayed of 4 partitions" in lake("replay", "lake", at=fresh)
    assert f"{ROWS:,} rows added" in lake("archive", "--topics", "flights", "--to", "again", "--format", form, at=fresh)
    assert f"equal: {ROWS:,} rows of 4 partitions" in lake("verify", "again", at=fresh)
