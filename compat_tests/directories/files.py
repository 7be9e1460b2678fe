"""Kafka's dump-log on every file of a log directory, with the decoder that its records want."""

from __future__ import annotations

from pathlib import Path

from compat_tests.directories.log_directories import SharedLogDirectories
from compat_tests.harness import dump_log
from compat_tests.harness.kafka_tools import KafkaTools

_DECODERS = {
    "__cluster_metadata": ("--cluster-metadata-decoder", "--skip-record-metadata"),
    "__consumer_offsets": ("--offsets-decoder",),
    "__share_group_state": ("--share-group-state-decoder",),
    "__transaction_state": ("--transaction-log-decoder",),
}
COMPACTED = ("compacted", *_DECODERS)
#: What the decoders write of records that they do not understand.
_UNKNOWN = ("Could not decode", "unknown", "UnsupportedVersion", "Exception")
#: Bytes; those that Kafka preallocates are of 10 MiB.
_LARGEST_INDEX = 1 << 20


def faults(tools: KafkaTools, directories: SharedLogDirectories) -> list[str]:
    """What dump-log complains about: segments, indexes, producers' state, and the meaning of internal records."""
    return [fault for path in directories.paths for fault in _faults_in(tools, path)]


def _is_unfinished(index: Path) -> bool:
    """Apache Kafka 4.4.0 stops without cutting the indexes of its metadata log to their entries: zeros follow them."""
    return index.parent.name.startswith("__cluster_metadata") and index.stat().st_size > _LARGEST_INDEX


def _faults_in(tools: KafkaTools, data_dir: Path) -> list[str]:
    # Kafka does not finish the indexes of what it is about to remove.
    found = [fault for fault in dump_log.faults(tools, data_dir, compacted=COMPACTED) if "-delete/" not in fault]
    for topic, decoder in _DECODERS.items():
        files = sorted(
            file
            for pattern in ("*.log", "*.checkpoint")
            for file in data_dir.glob(f"{topic}-*/{pattern}")
            if file.stat().st_size
        )
        for file in files:
            result = tools("dump-log", *decoder, "--print-data-log", "--files", str(file))
            lines = result.text.splitlines()
            found += [f"{file}: {line}" for line in lines if any(word in line for word in _UNKNOWN)]
            found += [f"{file}: ended with {result.status}"] * bool(result.status)
    indexes = [
        str(file)
        for kind in ("index", "timeindex")
        for file in data_dir.glob(f"*-?/*.{kind}")
        if file.stat().st_size and not _is_unfinished(file)
    ]
    checked = tools("dump-log", "--index-sanity-check", "--files", ",".join(indexes))
    return found + [
        line for line in checked.text.splitlines() if "passed sanity check" not in line and "Dumping" not in line
    ]
