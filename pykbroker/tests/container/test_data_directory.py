"""Which log directory a container has, by the mounts that engines make, and what of it is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container import data_directory
from pykbroker.container.data_directory import OWN, Mount, default, lost, mounts, notices

HASH = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
#: As the kernel prints them in containers of Docker, of Podman (rootless, on a partition of its own) and of Kubernetes.
DOCKER = f"""\
620 519 0:59 / / rw,relatime master:290 - overlay overlay rw,lowerdir=/l/A:/l/B
621 620 0:61 / /proc rw,nosuid - proc proc rw
625 620 0:63 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k
628 620 254:0 /var/lib/docker/volumes/{HASH}/_data /var/lib/pykbroker rw,relatime - ext4 /dev/vda rw
629 620 254:0 /var/lib/docker/volumes/shop_kafka-data/_data /var/lib/kafka/data rw,relatime master:1 - ext4 /dev/vda rw
"""
PODMAN = f"""\
620 519 0:59 / / rw - overlay overlay rw
628 620 254:3 /ann/.local/share/containers/storage/volumes/{HASH}/_data /var/lib/pykbroker rw - xfs /dev/vdb rw
"""
KUBERNETES = r"""620 519 0:59 / / rw - overlay overlay rw
628 620 254:3 /kubelet/pods/3f/volumes/kubernetes.io~empty-dir/data /data rw - ext4 /dev/vdb rw
629 620 259:1 / /var/lib/kafka\040data rw - ext4 /dev/nvme1n1 rw
630 620 0:70 / /mem rw - tmpfs tmpfs rw
"""
NAMED = Mount("/var/lib/pykbroker", "/var/lib/docker/volumes/pykbroker/_data", "ext4")
ANONYMOUS = Mount("/var/lib/pykbroker", f"/var/lib/docker/volumes/{HASH}/_data", "ext4")


def at(point: str) -> Mount:
    return Mount(point, "/home/ann/data", "ext4")


@pytest.mark.parametrize(
    ("environment", "mounted", "expected"),
    [
        ({}, mounts(DOCKER), "/var/lib/kafka/data"),
        ({}, mounts(PODMAN), OWN),
        ({}, [], OWN),
        ({}, [NAMED, at("/var/lib/kafka/data")], OWN),
        ({}, [at(OWN), at("/var/lib/kafka/data")], OWN),
        ({}, [ANONYMOUS, at("/var/lib/kafka")], "/var/lib/kafka/data"),
        ({}, [ANONYMOUS, at("/tmp/kraft-combined-logs")], "/tmp/kraft-combined-logs"),
        ({}, [ANONYMOUS, at("/tmp/kafka-logs")], "/tmp/kafka-logs"),
        ({}, [ANONYMOUS, at("/srv")], OWN),
        ({"PYKBROKER_DATA_DIR": "/srv/data"}, mounts(DOCKER), "/srv/data"),
    ],
)
def test_a_volume_of_the_image_that_it_replaces_has_the_data(
    environment: dict[str, str], mounted: list[Mount], expected: str
) -> None:
    assert default(environment, mounted) == expected


def test_data_that_is_there_already_stays_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_directory, "OWN", str(tmp_path))
    assert default({}, mounts(DOCKER)) == "/var/lib/kafka/data"
    (tmp_path / "meta.properties").write_text("cluster.id=x\n")
    assert default({}, mounts(DOCKER)) == str(tmp_path)


@pytest.mark.parametrize(
    ("directory", "mounted", "reason"),
    [
        ("/var/lib/kafka/data", DOCKER, None),
        (OWN, DOCKER, "anonymous volume"),
        (OWN, PODMAN, "anonymous volume"),
        ("/tmp/kraft-combined-logs", DOCKER, "in the container"),
        ("/dev/shm/data", DOCKER, "in memory"),
        ("/data/kafka", KUBERNETES, "emptyDir"),
        ("/database", KUBERNETES, "in the container"),
        ("/var/lib/kafka data/logs", KUBERNETES, None),
        ("/mem", KUBERNETES, "in memory"),
        ("/data", "", None),
    ],
)
def test_what_does_not_outlive_the_container(directory: str, mounted: str, reason: str | None) -> None:
    said = lost(directory, mounts(mounted))
    assert said is None if reason is None else reason in str(said)
    sentences = list(notices([directory], mounts(mounted)))
    assert len(sentences) == (reason is not None)
    assert all("does not outlive the container" in sentence for sentence in sentences)


def test_those_of_this_process_are_read() -> None:
    assert all(mount.point.startswith("/") for mount in mounts())
