"""Checks a broker's log directory with Kafka's dump-log tool."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from compat_tests.harness.kafka_tools import KafkaTools

#: Messages of the tool about faults; its exit status is 0 all the same. It also prints "-1 is followed by" for the
#: first
#: record of every segment but the first, which is no fault.
_FAULT = re.compile(
    r"isvalid: false|Mismatches in|Found timestamp mismatch|Found out of order timestamp|Indexed offset|Could not|Exception"
    r"|is corrupt|invalid|^ *\d+ is followed by"
)


def segment_files(data_dir: Path) -> list[Path]:
    """Return the files of all partitions that dump-log reads."""
    kinds = ("*.log", "*.index", "*.timeindex", "*.snapshot", "*.txnindex")
    return sorted(
        file for kind in kinds for file in data_dir.glob(f"*/{kind}") if not file.name.endswith(".checkpoint")
    )


def faults(tools: KafkaTools, data_dir: Path, *, compacted: Collection[str] = ()) -> list[str]:
    """Return the lines in which dump-log reports faults of files under ``data_dir``, with deep iteration.

    Empty index files are skipped: the tool maps index files and fails on empty ones, Kafka's own included. Logs of the
    topics in ``compacted`` may lack offsets, and have empty batches, whose timestamps the tool does not find.
    """
    files = [file for file in segment_files(data_dir) if file.suffix == ".log" or file.stat().st_size]
    assert files, f"no segment files under {data_dir}"
    found = []
    for file in files:
        result = tools("dump-log", "--deep-iteration", "--files", str(file))
        wrong = [line for line in result.text.splitlines() if _FAULT.search(line)]
        if file.parent.name.rpartition("-")[0] in compacted:
            wrong = [line for line in wrong if not _is_of_compaction(line, result.text)]
        found += [f"{file.parent.name}/{file.name}: {line}" for line in wrong]
        if result.status:
            found.append(f"dump-log of {file} ended with {result.status}: {result.err[-1000:]}")
    return found


def _is_of_compaction(line: str, text: str) -> bool:
    if "Found timestamp mismatch" in line:
        return set(re.findall(r"log timestamp: (-?\d+)", text)) == {"-1"}
    return "is followed by" in line
