"""The keys and users of ``serve --security``, kept between starts in a folder that only its owner can read.

They are a certificate authority, users with passwords, and the files that clients need (extra ``security``).
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from pykbroker.config.setting import ConfigError
from pykbroker.security.authority import Authority
from pykbroker.security.file_permissions import warn_if_exposed
from pykbroker.security.ready_made import WITH_PASSWORDS, ReadyMade
from pykbroker.storage.properties import load, text_of

#: What cannot be made again: clients have the authority's certificate, passwords, and tokens signed by this key.
KEPT: Final = ("authority-key.pem", "users.properties", "token-key.txt")
#: Users if none are named.
DEFAULT_USERS: Final = ("alice", "bob")
_NAME: Final = re.compile(r"[A-Za-z0-9._@-]+")
_PASSWORD_BYTES: Final = 18
_DAYS: Final = 3650.0


class KeptSecurity:
    """See the module. ``made`` has the broker's settings and those of clients, which name files of the folder."""

    def __init__(
        self, folder: Path, protocol: str, names: Iterable[str], hosts: Iterable[str], now_ms: Callable[[], int]
    ) -> None:
        """Create or read the folder. Raises ConfigError for a bad folder or user name, and OSError."""
        self.folder = folder.absolute()
        _check_owner(self.folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.clients = self.folder / "clients"
        self.clients.mkdir(mode=0o700, exist_ok=True)
        for path in (self.folder, *self.folder.iterdir()):
            warn_if_exposed(path, "keys and passwords")
        authority = self._authority(now_ms())
        write_private(self.folder / "authority.pem", authority.certificate)
        users = self._users(tuple(names))
        self.made = ReadyMade(
            *(protocol, users, now_ms),
            hosts=hosts,
            authority=authority,
            store_forms=self,
            mechanisms=WITH_PASSWORDS,
            token_key=self._token_key(),
        )

    def _authority(self, now_ms: int) -> Authority:
        path = self.folder / "authority-key.pem"
        if not path.exists():
            write_private(path, Authority("pykbroker's own authority", now_ms, days=_DAYS).pem)
        try:
            return Authority.restored(path.read_text(encoding="ascii"))
        except ValueError as error:
            raise ConfigError(f"{path} is not the key of an authority that --security created: {error}") from error

    def _token_key(self) -> str:
        """Return delegation.token.secret.key; a new one would invalidate all existing tokens."""
        path = self.folder / "token-key.txt"
        if not path.exists():
            write_private(path, secrets.token_urlsafe())
        return path.read_text(encoding="ascii").strip()

    def _users(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return the users of the file, plus the named ones that it lacks, with new passwords; named ones come first."""
        path = self.folder / "users.properties"
        there = load(path) if path.exists() else {}
        for name in names:
            if not _NAME.fullmatch(name):
                raise ConfigError(f"--user {name} is not a valid name: use letters, digits and . _ @ -")
        wanted = names or (() if there else DEFAULT_USERS)
        users = {name: there.get(name) or secrets.token_urlsafe(_PASSWORD_BYTES) for name in wanted}
        users |= {name: password for name, password in there.items() if name not in users}
        if users != there:
            write_private(path, text_of(users))
        return users

    # Files for clients

    def _certificate(self, name: str) -> str:
        path = self.clients / f"{name}.pem"
        if not path.exists():
            write_private(path, self.made.certificate(name, _DAYS).pem)
        return str(path)

    @property
    def _trusted(self) -> str:
        return str(self.folder / "authority.pem")

    def to_java(self, name: str | None) -> dict[str, str]:
        own = {} if name is None else {"ssl.keystore.type": "PEM", "ssl.keystore.location": self._certificate(name)}
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": self._trusted, **own}

    def to_librdkafka(self, name: str | None) -> dict[str, str]:
        own = dict.fromkeys(
            ("ssl.certificate.location", "ssl.key.location"), "" if name is None else self._certificate(name)
        )
        return {"ssl.ca.location": self._trusted, **(own if name is not None else {})}

    def to_python(self, name: str | None) -> dict[str, Any]:
        own = {} if name is None else dict.fromkeys(("ssl_certfile", "ssl_keyfile"), self._certificate(name))
        return {"ssl_cafile": self._trusted, **own}


def _check_owner(folder: Path) -> None:
    """Raises ConfigError for another user's folder, whose keys and passwords that user would know."""
    for found in (folder.lstat, folder.stat):  # of a link, whoever made it, too
        with contextlib.suppress(FileNotFoundError):
            if (owner := found().st_uid) not in (0, os.geteuid()):
                raise ConfigError(
                    f"{folder} belongs to another user (uid {owner}), who could read the keys and passwords of --security or "
                    "put others in their place: choose another folder with --security-dir DIR, or change its owner"
                )


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, atomically; no link is followed."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)  # of an interrupted start
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - opens a descriptor
        file.write(text)
    new.replace(path)
