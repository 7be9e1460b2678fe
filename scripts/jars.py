"""Jars for the tests, the bench and wiregen, downloaded once through Maven.

Each set is a pom in ``scripts/poms/``. ``jars("kafka")`` resolves it into ``build/jars/kafka/`` and returns the files;
a set is resolved again only when its pom changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
POMS = ROOT / "scripts" / "poms"
JARS = ROOT / "build" / "jars"


class JarsUnavailable(RuntimeError):
    """Maven is missing or could not resolve a set; the message says what to do."""


def jars(name: str, pom: Path | None = None) -> list[Path]:
    """Return the jar files of the set ``name``, sorted; ``pom`` is its pom if it is not in ``scripts/poms/``. Raises JarsUnavailable."""
    made = JARS / f"{name}.xml"  # by scripts/drift, for another release
    pom = pom or (made if made.exists() else POMS / f"{name}.xml")
    target = JARS / name
    stamp = target / ".resolved"
    want = hashlib.sha256(pom.read_bytes()).hexdigest()
    JARS.mkdir(parents=True, exist_ok=True)
    with (JARS / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may call this at once
        if not (stamp.exists() and stamp.read_text() == want):
            _resolve(pom, target)
            stamp.write_text(want)
    return sorted(target.glob("*.jar"))


def classpath(name: str) -> str:
    """Return the set ``name`` as a Java class path. Raises JarsUnavailable."""
    return ":".join(map(str, jars(name)))


def _resolve(pom: Path, target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsUnavailable("Maven is not installed; install it (on Debian: apt-get install maven) and try again.")
    shutil.rmtree(target, ignore_errors=True)
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={target}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode or not target.is_dir():
        raise JarsUnavailable(f"Maven could not resolve {pom.name}; its last words:\n{done.stdout[-2000:]}")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(classpath(argument))
