"""Reads passwords from a prompt, from a line of standard input, or from a file.

Never from the command line, which every process of the machine can read.
"""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

from pykbroker.client.errors import UsageError


def new_password(user: str, file: Path | None) -> str:
    """Read a new password for ``user``; a prompt asks twice. Raises UsageError."""
    password = _line_of(file) if file is not None else _prompted(user) if _is_terminal() else sys.stdin.readline()
    password = password.rstrip("\r\n")
    if not password:
        where = f"{file} begins with an empty line" if file is not None else "none was given"
        raise UsageError(f"A password is needed, and {where}: type it, send it as a line, or name a --password-file.")
    return password


def _line_of(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as lines:
            return lines.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--password-file {file} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error


def _prompted(user: str) -> str:
    password = getpass.getpass(f"Password of {user}: ")
    if getpass.getpass("Once more: ") != password:
        raise UsageError("The passwords differ; nothing was changed.")
    return password


def _is_terminal() -> bool:
    return sys.stdin.isatty()
