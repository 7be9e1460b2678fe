"""A realm of Kerberos for tests: MIT's KDC as a process on loopback, its principals and their key tables.

``KRB5_CONFIG`` says where a process finds it: ``realm.environment``. Where its programs, or the package ``gssapi``, are not installed
``MISSING`` says what is.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from pykbroker.security.kerberos.login_module import LOGIN_MODULE

REALM: Final = "TEST.REALM"
BROKER: Final = "kafka/localhost"
#: Debian has them where only root looks.
_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

_CLIENT: Final = """
[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
    kdc = 127.0.0.1:{port}
}}
"""
_SERVER: Final = """
[kdcdefaults]
kdc_ports = ""
kdc_listen = ""
kdc_tcp_ports = ""
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    max_life = 1h
}}
[logging]
kdc = FILE:{folder}/kdc.log
"""


def missing() -> str:
    """What is not installed; empty where nothing is missing."""
    programs = [name for name in ("krb5kdc", "kdb5_util", "kadmin.local", "kinit") if not _path_of(name)]
    package = [] if importlib.util.find_spec("gssapi") else ["the package gssapi"]
    return ", ".join(programs + package)


def _path_of(program: str) -> str | None:
    return shutil.which(program, path=_PATH)


#: What makes clocks wrong.
_FAKETIME: Final = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
needs_faketime = pytest.mark.skipif(_FAKETIME is None, reason="not installed: apt-get install faketime")
needs_kerberos = pytest.mark.skipif(
    bool(missing()),
    reason=f"not installed: {missing()} (apt-get install krb5-kdc krb5-admin-server krb5-user libkrb5-dev; pip install gssapi)",
)


def _environment(folder: Path) -> dict[str, str]:
    return {
        "KRB5_CONFIG": str(folder / "krb5.conf"),
        "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        "KRB5CCNAME": f"FILE:{folder}/nobody.cache",
        "KRB5RCACHEDIR": str(folder),
    }


class Realm:
    """One realm; ``principal`` makes principals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = _environment(folder)
        self._configure(0)
        self._run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        self.key_table = self.principal(BROKER)

    def principal(self, name: str) -> Path:
        """A new one, and the file that its key is in."""
        path = self.folder / f"{name.replace('/', '-')}.keytab"
        self._admin(f"addprinc -randkey {name}", f"ktadd -k {path} {name}")
        return path

    def ticket(self, name: str, *options: str) -> Path:
        """The ticket cache of a new principal who has signed in."""
        cache = self.folder / f"{name.replace('/', '-')}.cache"
        self._run("kinit", "-k", "-t", str(self.principal(name)), "-c", str(cache), *options, name)
        return cache

    def jaas(self, key_table: Path | None = None, principal: str = BROKER) -> str:
        """Of the broker, or of a client."""
        path = key_table or self.key_table
        return (
            f'{LOGIN_MODULE} required useKeyTab="true" storeKey="true" keyTab="{path}" principal="{principal}@{REALM}";'
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """While its KDC runs."""
        process = self._started()
        try:
            yield
        finally:
            process.terminate()
            process.communicate()

    def first_token(self, name: str, clock: str) -> bytes:
        """What a new client says first whose clock, with that of a KDC of his own, is as libfaketime says: ``-1d`` or ``+1d``."""
        other = _AtAnotherTime(self.folder, clock)
        with other.running():
            cache = other.ticket(name)
            program = f"from {__name__} import *; print(initiator(Path({str(cache)!r})).step().hex())"
            return bytes.fromhex(other._run(sys.executable, "-c", program))

    def _started(self) -> subprocess.Popen[str]:
        """It says that it starts once it listens; where the port is somebody else's it ends, and has another."""
        for _ in range(100):
            self._configure(random.randrange(15_000, 32_000))
            command = [str(_path_of("krb5kdc")), "-n", "-r", REALM, "-P", str(self.folder / "pid")]
            process = subprocess.Popen(
                command, env=self._whole_environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            assert process.stdout is not None
            said = process.stdout.readline()
            if "starting" in said:
                return process
            process.terminate()
            said += process.communicate()[0]
        raise AssertionError(f"the KDC does not start: {said}")

    def _configure(self, port: int) -> None:
        for name, text in (("krb5.conf", _CLIENT), ("kdc.conf", _SERVER)):
            (self.folder / name).write_text(text.format(realm=REALM, port=port, folder=self.folder))

    def _admin(self, *commands: str) -> None:
        for command in commands:
            self._run("kadmin.local", "-r", REALM, "-q", command)

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [str(_path_of(program)), *arguments],
            env=self._whole_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program} {' '.join(arguments)}: {done.stdout}"
        return done.stdout

    @property
    def _whole_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


class _AtAnotherTime(Realm):
    """The same realm, by a KDC whose clock is wrong, and with clients who share that."""

    def __init__(self, realm: Path, clock: str) -> None:
        self.folder = realm / clock
        shutil.copytree(realm, self.folder)
        self.environment = {**_environment(self.folder), "LD_PRELOAD": str(_FAKETIME), "FAKETIME": clock}


@contextmanager
def running_realm(folder: Path) -> Iterator[Realm]:
    """A realm whose KDC runs, and which this process believes in meanwhile."""
    realm = Realm(folder)
    with realm.running(), pytest.MonkeyPatch.context() as patch:
        for name, value in realm.environment.items():
            patch.setenv(name, value)
        yield realm


def initiator(cache: Path, service: str = BROKER, *, mutual: bool = True) -> Any:
    """The security context of a client with this ticket cache."""
    from gssapi import Credentials, MechType, Name, NameType, RequirementFlag, SecurityContext

    kerberos = MechType.kerberos
    flags = [RequirementFlag.mutual_authentication] if mutual else []
    return SecurityContext(
        name=Name(f"{service}@{REALM}", NameType.kerberos_principal),
        creds=Credentials(usage="initiate", mechs=[kerberos], store={"ccache": str(cache)}),
        mech=kerberos,
        flags=[*flags, RequirementFlag.integrity, RequirementFlag.confidentiality],
        usage="initiate",
    )
