"""Brokers in the process that uses them: started, stopped, emptied, photographed."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pykbroker.config.broker import BrokerConfig
from pykbroker.process.node import Node
from pykbroker.testing.loop import LoopThread

#: What a test wants other than an operator. Anything given explicitly wins.
TEST_SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.retention.ms": "-1",  # a test's timestamps may be of any year
}


class Kafka:
    """One broker, or several of one cluster, in a thread of this process, from ``with`` to its end.

    ``settings`` are Kafka's broker settings, by their names or as keywords with underscores in place of dots. Data lies in
    a temporary folder that goes with the broker, unless ``data_dir`` names one that stays. Port 0 picks a free one.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        brokers: int = 1,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: str | Path | None = None,
        **more_settings: object,
    ) -> None:
        """Raises ConfigError for a setting that Kafka does not have, or whose value is bad."""
        self._brokers = brokers
        self._given = {
            "listeners": f"PLAINTEXT://{host}:{port}",
            **TEST_SETTINGS,
            **{name: as_text(value) for name, value in (settings or {}).items()},
            **{name.replace("_", "."): as_text(value) for name, value in more_settings.items()},
        }
        self._kept = None if data_dir is None else Path(data_dir)
        self._root: Path | None = None
        self._lives = 0
        self._thread = LoopThread("pykbroker")
        self._node: Node | None = None
        self._removing: list[threading.Thread] = []

    # ---- from start to end -------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Come back when clients are accepted. Raises StartFailed; then nothing is left behind."""
        self._thread.start()
        try:
            self._begin_start().result()
        except BaseException:
            self._end()
            raise
        return self

    def stop(self) -> None:
        """End the broker, and remove its data unless it was given a folder. Harmless when repeated."""
        if self._node is not None:
            try:
                self._thread.begin(self._node.stop()).result()
            finally:
                self._end()

    def _begin_start(self) -> Future[None]:
        return self._thread.begin(self._start())

    async def _start(self) -> None:
        node = Node(self._config(), self._brokers, durable=self._kept is not None)
        await node.start()
        self._node = node

    def _end(self) -> None:
        self._node = None
        self._thread.stop()
        for removing in self._removing:
            removing.join()
        self._removing.clear()
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None

    def _config(self) -> BrokerConfig:
        directory = str(self._kept or self._new_directory())
        return BrokerConfig({**self._given, "log.dirs": directory, "metadata.log.dir": directory})

    def _new_directory(self) -> Path:
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="pykbroker-"))
        self._lives += 1
        directory = self._root / str(self._lives)
        directory.mkdir()
        return directory

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    # ---- while it runs ------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        """The brokers themselves; they belong to their own thread. Raises RuntimeError where they do not run."""
        if self._node is None:
            raise RuntimeError("the broker is not running; enter it with `with`, or call start()")
        return self._node

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker that runs, with commas between, as clients want it."""
        return ",".join(self.node.addresses().values())

    def reset(self) -> None:
        """As new: topics, groups, transactions, credentials and settings altered at run time are gone, and connections of
        clients are cut. It takes as long however much there was. Raises RuntimeError for a broker with a ``data_dir``.
        """
        if self._kept is not None:
            raise RuntimeError(
                "reset() removes all data, and this broker was given a data_dir that stays; leave it out"
            )
        before = self._root and self._root / str(self._lives)
        self._thread.begin(self.node.begin_anew(self._config())).result()
        removing = threading.Thread(target=shutil.rmtree, args=(before,), kwargs={"ignore_errors": True})
        removing.start()
        self._removing = [each for each in self._removing if each.is_alive()] + [removing]


class KafkaCluster(Kafka):
    """Three brokers of one cluster, or as many as ``brokers`` says."""

    def __init__(self, settings: Mapping[str, object] | None = None, *, brokers: int = 3, **more: Any) -> None:
        super().__init__(settings, brokers=brokers, **more)


def as_text(value: object) -> str:
    """A setting's value as Kafka's files have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
