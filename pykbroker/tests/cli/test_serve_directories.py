"""`pykbroker serve` on log directories that cannot be used, or no longer: what it says, and that the next start needs nobody."""

from __future__ import annotations

import asyncio
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.tests.cli.test_serve import refused, serving
from pykbroker.tests.kit.running import Client, until_in_thread
from pykbroker.tests.network.test_connection import produce
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from pykbroker.wire.messages.produce import ProduceResponse

STORAGE_ERROR = 56
LISTEN = ("--listen", "127.0.0.1:0")
#: Rounds that notice soon what has become of the folder.
SOON = ("--set", "log.flush.offset.checkpoint.interval.ms=50", "--set", "log.initial.task.delay.ms=50")


def ask(ready: str, *requests: tuple[Message, int, type[Message]]) -> list[Message]:
    """Answers of the broker that said that it is ready."""

    async def talk() -> list[Message]:
        client = Client(*await asyncio.open_connection("127.0.0.1", int(ready.rpartition(":")[2])))
        answers = [await client.ask(*request) for request in requests]
        client.close()
        return answers

    return asyncio.run(asyncio.wait_for(talk(), 10))


def create(topic: str) -> tuple[Message, int, type[Message]]:
    return CreateTopicsRequest([CreatableTopic(topic, 1, 1)], 1000), 7, CreateTopicsResponse


def produced(ready: str) -> tuple[int, int]:
    """Error code and base offset of one more record in topic t."""
    (answer,) = ask(ready, (produce(b"x"), 9, ProduceResponse))
    part = answer.responses[0].partition_responses[0]
    return part.error_code, part.base_offset


def ended(process: subprocess.Popen[str]) -> str:
    """Stops the broker; what it wrote to standard error, which is no traceback."""
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 0
    assert "Traceback" not in said
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log directory with one record in topic t, of a broker that was stopped."""
    path = tmp_path / "data"
    with serving(*LISTEN, "--data-dir", str(path)) as (process, ready):
        ask(ready, create("t"))
        assert produced(ready) == (0, 0)
        ended(process)
    return path


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    status, said = refused(*LISTEN, "--data-dir", str(tmp_path / "data"))
    assert status == 1
    assert f"the log directory {tmp_path / 'data'} cannot be used" in said
    assert "A file is in its place" in said
    assert "or choose another with --data-dir DIR." in said


@pytest.mark.deep
def test_files_that_must_not_grow(folder: Path) -> None:
    """As on a full disk: the epoch of the new start cannot be written. With room again, all is there."""
    done = subprocess.run(
        [sys.executable, "-m", "pykbroker", "serve", *LISTEN, "--data-dir", str(folder)],
        capture_output=True, text=True, timeout=30, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30, 30)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    assert "raise the limit of this user" in done.stderr
    assert "Traceback" not in done.stderr
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        assert produced(ready) == (0, 1)
        ended(process)


@pytest.mark.deep
@pytest.mark.parametrize("content", [None, "", "rubbish"])
def test_meta_properties_that_are_missing_or_damaged(folder: Path, content: str | None) -> None:
    properties = folder / "meta.properties"
    kept = properties.read_text()
    properties.unlink()
    if content is not None:
        properties.write_text(content)
    status, said = refused(*LISTEN, "--data-dir", str(folder))
    assert status == 1
    assert "restore that file, or write one with the lines version=1, node.id=1 and cluster.id=ID" in said
    properties.write_text(kept)
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        assert produced(ready) == (0, 1)
        ended(process)


@pytest.mark.deep
def test_a_folder_of_another_cluster_among_the_log_dirs(folder: Path, tmp_path: Path) -> None:
    with serving(*LISTEN, "--data-dir", str(tmp_path / "other")) as (process, _):
        ended(process)
    status, said = refused(*LISTEN, "--data-dir", f"{folder},{tmp_path / 'other'}")
    assert status == 1
    assert f"{tmp_path / 'other'} belongs to cluster.id" in said


def test_one_of_the_log_dirs_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    with serving(*LISTEN, "--data-dir", f"{folder},{tmp_path / 'broken'}") as (process, ready):
        assert produced(ready) == (0, 1)
        (answer, *_) = ask(ready, (DescribeLogDirsRequest(None), 4, DescribeLogDirsResponse))
        assert [(each.log_dir, each.error_code) for each in answer.results] == [
            (str(folder), 0),
            (str(tmp_path / "broken"), STORAGE_ERROR),
        ]
        assert f"Log directory {tmp_path / 'broken'} goes offline" in ended(process)


@pytest.mark.deep
@pytest.mark.parametrize("what", ["t-0", "."])
def test_files_that_vanish_while_they_are_served(folder: Path, what: str) -> None:
    """A partition's directory, or all of them: once it is noticed, every client is told, until a start that finds what is left."""
    with serving(*LISTEN, *SOON, "--data-dir", str(folder), "--set", "log.segment.bytes=1048576") as (process, ready):
        produced(ready)
        gone = (folder / what).rename(
            folder.parent / "gone"
        )  # in one step: the broker makes and removes files meanwhile
        shutil.rmtree(gone)
        if what == "t-0":
            ask(ready, (produce(bytes(900_000)), 9, ProduceResponse), (produce(bytes(900_000)), 9, ProduceResponse))
        until_in_thread(lambda: produced(ready)[0] == STORAGE_ERROR)
        assert "goes offline" in ended(process)
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        if what == ".":
            ask(ready, create("t"))
        assert produced(ready) == (0, 0)
        ended(process)


@pytest.mark.deep
def test_a_file_in_the_place_of_a_partition(folder: Path) -> None:
    shutil.rmtree(folder / "t-0")
    (folder / "t-0").touch()
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        assert produced(ready)[0] == STORAGE_ERROR
        assert "opening t-0 failed: [Errno 20] Not a directory" in ended(process)
    (folder / "t-0").unlink()
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        assert produced(ready) == (0, 0)
        ended(process)
