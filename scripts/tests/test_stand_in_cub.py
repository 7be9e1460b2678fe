"""Waiting for a cluster: it ends when the brokers are there, or in words when the time is over."""

from __future__ import annotations

from contextlib import closing

import pytest

from pykbroker.client.errors import Unreachable
from pykbroker.container.tools.running import ToolError, run
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.escaping import escaped_layout
from pykbroker.tests.cli.test_hostile import CHANGES
from pykbroker.tests.kit.hostile import HostileBroker
from scripts.image.stand_ins.cub import main, wait


class Cluster:
    """Unreachable at first, then with one broker, then with two."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.patience: list[float] = []

    def count(self, patience_s: float) -> int:
        self.patience.append(patience_s)
        if len(self.patience) == 1:
            raise Unreachable("nobody is there.")
        return min(len(self.patience) - 1, 2)

    def wait(self, expected: int, timeout_s: float) -> None:
        wait(self.count, expected, timeout_s, self.clock, lambda seconds: self.clock.advance(int(seconds * 1000)))


@pytest.mark.parametrize(("expected", "asked"), [(1, 2), (2, 3)])
def test_until_the_brokers_are_there(expected: int, asked: int) -> None:
    cluster = Cluster()
    cluster.wait(expected, 20)
    assert len(cluster.patience) == asked


def test_no_longer_than_it_is_told() -> None:
    cluster = Cluster()
    with pytest.raises(ToolError, match="has not had 3 brokers for 2 seconds; at last, it has 2 brokers"):
        cluster.wait(3, 2)
    assert cluster.patience == [2, 1.5, 1, 0.5, 0.5]
    with pytest.raises(ToolError, match="at last, nobody is there"):
        Cluster().wait(1, 0)


@pytest.mark.parametrize("words", [["1", "20"], ["1", "20", "-z", "zookeeper:2181"]])
def test_somebody_has_to_be_named(words: list[str]) -> None:
    with pytest.raises(ToolError, match="-b HOST:PORT is missing") as refused:
        main(["kafka-ready", *words])
    assert ("ZooKeeper" in str(refused.value)) == (len(words) > 2)


def test_zookeeper_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    main(["zk-ready", "zookeeper:2181", "40"])
    assert "not needed" in capsys.readouterr().err


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_broker_says_does_nothing(change: str, capfd: pytest.CaptureFixture[str]) -> None:
    with closing(HostileBroker(CHANGES[change])) as broker:
        run("cub", main, ["kafka-ready", "-b", f"127.0.0.1:{broker.port}", "1", "1"])
    printed = capfd.readouterr()
    assert escaped_layout(printed.out + printed.err) == printed.out + printed.err
