"""What is done to each broker, and read off it; imports nothing of pykbroker, so that its memory can be told from this."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer


def first_record(address: str) -> None:
    """Produce it to a topic that is not there yet."""
    producer = Producer({"bootstrap.servers": address, "log_level": 0, "log.connection.close": False})
    producer.produce("t", b"v")
    assert producer.flush(60) == 0


def memory(pid: int) -> int:
    """What the process holds of it, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
