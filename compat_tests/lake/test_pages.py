"""The commands of docs/lake.md, one after the other, as printed: in one process, so that Java starts once.

Those with another form of table are left to test_archive: what differs is the table, not the command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from compat_tests.harness.process import ROOT
from compat_tests.lake.conftest import SMALL
from compat_tests.snippets.blocks import blocks
from compat_tests.spark.topics import Topics
from scripts.jars import jars

RUN = """
import shlex, sys
from pykbroker.cli.app import main
for line in sys.stdin.read().splitlines():
    print(line, flush=True)
    status = main(shlex.split(line, comments=True)[1:])
    if status:
        sys.exit(f"{line}: exit status {status}")
"""


def test_every_command_of_the_page_does_what_it_says(topics: Topics, tmp_path: Path) -> None:
    topics.create(3, name="flights")
    for partition in range(3):
        topics.send("flights", range(10), partition, key=b"UA")
    page = [line for block in blocks(ROOT / "docs" / "lake.md") for line in block.commands()]
    lines = [line for line in page if line.startswith("pykbroker lake ") and "--format" not in line]
    environment = {
        **os.environ,
        "PYKBROKER_BOOTSTRAP": topics.bootstrap,
        "PYKBROKER_SPARK_JARS": ",".join(map(str, jars("spark"))),
        "PYSPARK_SUBMIT_ARGS": " ".join(f"--conf '{name}={value}'" for name, value in SMALL.items()) + " pyspark-shell",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN], input="\n".join(lines), cwd=tmp_path, env={**environment, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("30 rows added") == 1
    assert "equal: 30 rows of 3 partitions" in done.stdout
    assert done.stdout.count("30 rows replayed of 3 partitions") == 3
