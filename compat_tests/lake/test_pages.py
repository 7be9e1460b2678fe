"""The commands of docs/lake.md, one after the other, as printed: in one process, so that Java starts once.

Those with another form of table are left to test_archive: what differs is the table, not the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from compat_tests.harness.process import ROOT
from compat_tests.lake.conftest import SMALL
from compat_tests.lake.registry import framed, serving
from compat_tests.snippets.blocks import blocks
from compat_tests.spark.topics import Topics
from pykbroker.lake.spark_artifacts import FOLDER
from pykbroker.runtime.temporary import LAKE, sweep
from scripts.jars import jars

#: Each command has more settings of Spark than the page says. One that follows is ended as a service manager does it, when
#: what it has done is in a ledger.
RUN = """
import os, pathlib, shlex, signal, sys, threading, time
from pykbroker.cli.app import main

def end(ledger):
    while not any(ledger.glob("*.json")):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)

def ledger(words):
    if words[2] == "archive":
        return pathlib.Path(words[words.index("--to") + 1], "ledger")
    return pathlib.Path(words[3], "decoded", words[words.index("--topics") + 1], "ledger")

for line in sys.stdin.read().splitlines():
    print(line, flush=True)
    words = shlex.split(line, comments=True)
    if "--follow" in words:
        threading.Thread(target=end, args=[ledger(words)]).start()
    status = main([*words[1:], *sys.argv[1:]])
    if status:
        sys.exit(f"{line}: exit status {status}")
"""

PAGE = blocks(ROOT / "docs" / "lake.md")
ORDER = """syntax = "proto3"; package shop; message Order { string what = 1; }"""


def test_every_command_of_the_page_does_what_it_says(topics: Topics, tmp_path: Path) -> None:
    topics.create(3, name="flights")
    for partition in range(3):
        topics.send("flights", [json.dumps({"delay": number}) for number in range(10)], partition, key=b"UA")
    topics.create(name="orders-avro")
    topics.send_raw("orders-avro", None, framed(7, b"\x06tea"))
    topics.create(name="orders-proto")
    topics.send_raw("orders-proto", None, b"\x0a\x03tea")
    (tmp_path / "order.proto").write_text(ORDER)
    (tmp_path / "flights.sql").write_text("delay BIGINT")
    (tmp_path / "client.properties").write_text("client.id=lake")
    page = [line for block in PAGE for line in block.commands()]
    lines = [line for line in page if line.startswith("pykbroker lake ") and "--format" not in line]
    killed, temporary = tmp_path / "tmp" / f"{LAKE}killed", tmp_path / "tmp"
    killed.mkdir(parents=True)
    (killed / ".owned").touch()  # by nobody who lives
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "PYKBROKER_BOOTSTRAP": topics.bootstrap,
        "PYKBROKER_SPARK_JARS": ",".join(map(str, jars("spark"))),
    }
    settings = [word for name, value in SMALL.items() for word in ("--conf", f"{name}={value}")]
    with serving() as registry:
        registry.by_id[7] = {"schema": '"string"'}
        done = subprocess.run(
            [sys.executable, "-c", RUN, *settings], input=_here("\n".join(lines), registry.url, topics.bootstrap), cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert not killed.exists()
    assert not (tmp_path / FOLDER).exists()
    sweep(LAKE, temporary)  # the one Java of all these commands has the first one's folder as its own
    assert list(temporary.iterdir()) == []
    assert done.stdout.count("32 rows added") == 1
    assert done.stdout.count("Stopped; what was committed stays") == 1
    assert done.stdout.count("30 rows added in 1 batch;") == 1
    assert '"rows": 0, "batches": 0, "total_rows": 30' in done.stdout
    assert "Traceback" not in done.stdout
    assert done.stdout.count("Stopped; what was decoded stays") == 1
    assert "equal: 32 rows of 5 partitions" in done.stdout
    for row in ("flights\t30\t0\tdelay", "orders-avro\t1\t0\tvalue", "orders-proto\t1\t0\twhat"):
        assert row in done.stdout
    read: dict[str, Any] = {}
    with contextlib.chdir(tmp_path):
        exec(next(block.text for block in PAGE if block.language == "python"), read)
    assert (len(read["records"]), read["delays"].sum()) == (30, 3 * sum(range(10)))
    assert "profile.html: 3 topics, 32 records" in done.stdout
    assert done.stdout.count("32 rows replayed of 5 partitions") == 2
    assert done.stdout.count("30 rows replayed of 3 partitions") == 1


def _here(lines: str, registry: str, bootstrap: str) -> str:
    return lines.replace("http://127.0.0.1:8081", registry).replace("127.0.0.1:9092", bootstrap)
