"""The pairs of brokers that are compared: Apache Kafka of a release, and pykbroker taken for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compat_tests.harness.older_apache import ApacheKafka28, ApacheKafka39, ApacheKafka43
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from pykbroker.releases.release import release

#: The releases that are asked, the older first.
RELEASES = ("2.8", "3.9", "4.3")
_APACHE: dict[str, type[BrokerProcess]] = {"2.8": ApacheKafka28, "3.9": ApacheKafka39, "4.3": ApacheKafka43}
#: Records of the cases are of years ago.
_SETTINGS = {"log.retention.ms": "-1"}


class AsVersion(Pykbroker):
    """pykbroker, taken for a release."""

    def __init__(self, folder: Path, name: str, settings: dict[str, str] | None = None) -> None:
        super().__init__(folder, _SETTINGS if settings is None else settings)
        self._release = name

    def command(self) -> list[str]:
        return [*super().command(), "--as-version", self._release]


def apache(name: str, folder: Path) -> BrokerProcess:
    """Apache Kafka of the release."""
    return _APACHE[name](folder, _SETTINGS)


def highest(name: str) -> Mapping[int, int]:
    """The highest version of each API of the release."""
    return {int(api.key): api.max_version for api in release(name).table}
