"""Which memory the process may use, by files as Linux shows them in containers and outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.process.memory_limit import PART, available, set_limits
from pykbroker.runtime.memory import MemoryBudget


def write(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return root


@pytest.mark.parametrize(
    ("cgroup", "files", "limit"),
    [
        ("0::/", {"memory.max": "134217728"}, 134217728),
        ("0::/a/b", {"a/memory.max": "100000000", "a/b/memory.max": "max"}, 100000000),
        ("4:cpu,memory:/docker/x\n0::/", {"memory/memory.limit_in_bytes": "64000000"}, 64000000),
        ("4:memory:/a", {"memory/a/memory.limit_in_bytes": "64000000"}, 64000000),
    ],
)
def test_the_limit_of_the_cgroup(tmp_path: Path, cgroup: str, files: dict[str, str], limit: int) -> None:
    write(tmp_path, proc__self__cgroup=cgroup)
    write(tmp_path, **{f"sys/fs/cgroup/{name}": content for name, content in files.items()})
    assert available(tmp_path) == limit


@pytest.mark.parametrize("cgroup", ["0::/", "4:memory:/a", ""])
def test_without_a_limit_it_is_the_machine_s_memory(tmp_path: Path, cgroup: str) -> None:
    write(tmp_path, proc__self__cgroup=cgroup)
    write(tmp_path, sys__fs__cgroup__memory__memory__limit_in_bytes="9223372036854771712")
    assert available(tmp_path) == available(tmp_path / "nothing") > 1 << 20


def test_the_settings_decide() -> None:
    budget = MemoryBudget()
    set_limits(budget, BrokerConfig({"node.id": "1"}))
    assert budget.limit == max(available() // PART, 8 << 20)
    assert budget.received.own_limit == 0
    own = {"node.id": "1", "pykbroker.memory.bytes": "5000000", "queued.max.request.bytes": "104857600"}
    set_limits(budget, BrokerConfig(own))
    assert (budget.limit, budget.received.own_limit) == (5_000_000, 104_857_600)
