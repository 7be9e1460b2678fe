"""The client of each broker; imports nothing of pykbroker, so that its memory can be measured separately."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer


def first_record(address: str) -> None:
    """Produce the first record to a topic that does not exist yet."""
    producer = Producer({"bootstrap.servers": address, "log_level": 0, "log.connection.close": False})
    producer.produce("t", b"v")
    assert producer.flush(60) == 0


def memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return _status(pid, "VmRSS:")


def peak_memory(pid: int) -> int:
    """Return the most resident memory that a process has had, in bytes."""
    return _status(pid, "VmHWM:")


def _status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
