"""The whole pipeline on a cluster: Spark's local-cluster mode, which runs executors as separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from compat_tests.conftest import takes_long
from compat_tests.harness.process import ROOT, BrokerProcess
from compat_tests.spark.topics import Topics

ROWS = 2000


@takes_long
def test_the_pipeline_runs_on_executors(start_target: Callable[..., BrokerProcess], tmp_path: Path) -> None:
    """In a separate process, which has its own Spark. Each table format is replayed to its own broker."""
    brokers = [start_target().bootstrap for _ in range(4)]
    topics = Topics(brokers[0])
    topics.create(4, name="flights", retention_ms="-1")
    for partition in range(4):
        topics.send("flights", [json.dumps({"delay": number}) for number in range(ROWS // 4)], partition, key=b"UA")
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    done = subprocess.run(
        [sys.executable, "-m", "compat_tests.lake.cluster_job", *brokers, str(tmp_path)], cwd=ROOT,
        env={**os.environ, "SPARK_HOME": str(Path(spec.origin).parent)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [
        {"form": form, "rows": ROWS, "equal": True, "decoded": ROWS, "again": True, "profiled": ROWS}
        for form in ("parquet", "delta", "iceberg")
    ]
