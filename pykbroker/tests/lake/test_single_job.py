from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.lake.errors import LakeError
from pykbroker.lake.single_job import only_job

HOLDS = """
import sys
from pykbroker.lake.single_job import only_job
with only_job(sys.argv[1], "archive"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_is_told_who_the_first_is(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    at_it = rf"^Process {os.getpid()} is at this for the lake .*lake already \(archive\)"
    with only_job(lake, "archive"):
        with pytest.raises(LakeError, match=at_it), only_job(f"file://{lake}", "archive"):
            pass
        with only_job(lake, "compact"):
            pass
    with only_job(lake, "archive"):
        pass


def test_who_was_killed_holds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LakeError, match=f"Process {holder.pid} "), only_job(str(tmp_path), "archive"):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with only_job(str(tmp_path), "archive"):
        pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = pytest.raises(LakeError, match=r"Nothing can be written to the lake .*file/lake: Not a directory")
    with refused, only_job(str(tmp_path / "file" / "lake"), "archive"):
        pass


def test_of_a_lake_elsewhere_nobody_is_told() -> None:
    both = False
    with only_job("hdfs://there/lake", "archive"), only_job("hdfs://there/lake", "archive"):
        both = True
    assert both
