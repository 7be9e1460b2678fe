"""CRC-32C: the known value of RFC 3720, any buffer, and without what its package would import."""

from __future__ import annotations

import subprocess
import sys

import crc32c as package
import pytest

from pykbroker.wire.crc import crc32c


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_the_check_value(kind) -> None:
    assert crc32c(kind(b"123456789")) == 0xE3069283


def test_it_can_be_gone_on_with() -> None:
    assert crc32c(b"6789", crc32c(b"12345")) == package.crc32c(b"123456789")


def test_its_package_is_not_imported() -> None:
    """Nor what that imports; a start of the broker would pay for it."""
    code = "import sys, wire.crc; print({'crc32c', 'importlib.metadata', 'email'} & set(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "set()\n"
