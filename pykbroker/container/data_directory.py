"""The log directory of a container: the volume that somebody mounted, where the image or one that it replaces has its own.

An engine makes an anonymous volume for each ``VOLUME`` of an image. No other container gets that one, so data in it is lost
with its container, although it looks like any other volume there. Its name alone, of 64 hexadecimal digits, tells it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

VARIABLE: Final = "PYKBROKER_DATA_DIR"
#: The image's volume; its log directory is a folder in it, since what else lies in a volume's root (lost+found) is no
#: concern of a broker.
VOLUME: Final = "/var/lib/pykbroker"
OWN: Final = f"{VOLUME}/data"
#: Where Apache Kafka's and Confluent's images keep data, each with its mount points.
_OF_OTHERS: Final = {
    "/var/lib/kafka/data": ("/var/lib/kafka/data", "/var/lib/kafka"),
    "/tmp/kraft-combined-logs": ("/tmp/kraft-combined-logs",),  # noqa: S108 - a mounted volume
    "/tmp/kafka-logs": ("/tmp/kafka-logs",),  # noqa: S108
}
_MOUNTS: Final = Path("/proc/self/mountinfo")
_ANONYMOUS: Final = re.compile(r"/[0-9a-f]{64}(/_data)?$")
_EMPTY_DIR: Final = "/kubernetes.io~empty-dir/"
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A mount of the container: its point, what is mounted there (a path in its file system), and the kind of file system."""

    point: str
    source: str
    kind: str

    @property
    def anonymous(self) -> bool:
        """Whether an engine made it for this container alone."""
        return _ANONYMOUS.search(self.source) is not None


def mounts(text: str | None = None) -> list[Mount]:
    """Return the mounts of this process; ``text`` is in the form of /proc/self/mountinfo. Other systems have none."""
    if text is None:
        try:
            text = _MOUNTS.read_text(errors="surrogateescape")
        except OSError:
            return []
    return list(_mounts(text))


def _mounts(text: str) -> Iterator[Mount]:
    for line in text.splitlines():
        first, _, last = line.partition(" - ")
        fields = first.split(" ")
        if len(fields) > 4 and last:
            yield Mount(_plain(fields[4]), _plain(fields[3]), last.split(" ")[0])


def _plain(field: str) -> str:
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), field)


def default(environment: Mapping[str, str], mounted: Sequence[Mount]) -> str:
    """Return the log directory where no setting names one.

    A volume that the image's own user named counts first, and data that is in the image's volume already; then a volume of
    the images that it replaces.
    """
    if environment.get(VARIABLE):
        return environment[VARIABLE]
    points = {mount.point: mount for mount in mounted}
    own = points.get(VOLUME) or points.get(OWN)
    if (own is not None and not own.anonymous) or Path(OWN, "meta.properties").exists():
        return OWN
    return next((path for path, at in _OF_OTHERS.items() if any(point in points for point in at)), OWN)


def lost(directory: str, mounted: Sequence[Mount]) -> str | None:
    """Return why data in a log directory does not outlive the container, as the end of a sentence; None if it does."""
    path = PurePosixPath(directory)
    above = [mount for mount in mounted if path.is_relative_to(mount.point)]
    if not above:
        return None
    mount = max(enumerate(above), key=lambda each: (len(each[1].point), each[0]))[
        1
    ]  # a later mount hides an earlier one
    if mount.kind in ("tmpfs", "ramfs"):
        return "is in memory"
    if mount.anonymous:
        return "is in an anonymous volume, which no other container gets"
    if _EMPTY_DIR in mount.source:
        return "is in an emptyDir, which ends with the pod"
    return "is in the container, and no volume" if mount.point == "/" else None


def notices(directories: Sequence[str], mounted: Sequence[Mount]) -> Iterator[str]:
    """Yield a sentence for each log directory whose data ends with the container."""
    for directory in directories:
        if reason := lost(directory, mounted):
            yield (
                f"{directory} {reason}: its data does not outlive the container. To keep data, mount a named volume or a "
                f"folder there or, without settings for log directories, as -v NAME:{VOLUME}"
            )
