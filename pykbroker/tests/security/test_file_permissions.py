"""Files with secrets that others may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.security.file_permissions import warn_if_exposed
from pykbroker.tests.kit.certificates import broker, written


@pytest.mark.parametrize(("mode", "tells"), [(0o600, False), (0o640, False), (0o644, True), (0o604, True)])
def test_who_is_not_of_the_group_is_not_to_read_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, tells: bool
) -> None:
    location = written(tmp_path, "broker.pem", broker().pem)
    Path(location).chmod(mode)
    warn_if_exposed(location, "a private key")
    told = f"{location} holds a private key and is readable by every user of this machine: restrict it with chmod o-rwx"
    assert [record.getMessage() for record in caplog.records] == [told] * tells


def test_a_file_that_is_not_there_is_told_of_by_its_reader(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_if_exposed(tmp_path / "gone", "a private key")
    assert not caplog.records
