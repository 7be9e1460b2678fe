"""The licences of the packages that pykbroker needs, by their own metadata: ``python -m scripts.licences`` prints docs/licences.md's table."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

from scripts.jars import ROOT

LOCK = ROOT / "scripts" / "image" / "requirements.txt"
#: Names in metadata, and in the list of SPDX.
_SPDX = {
    "MIT License": "MIT",
    "Apache 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "3-clause BSD": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "http://www.apache.org/licenses/LICENSE-2.0": "Apache-2.0",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
}


def declared() -> dict[str, str]:
    """The packages that pyproject.toml declares for users, and the extra of each; "" for those that are always needed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = ("units", "test", "demo")
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in ours}
    found: dict[str, str] = {}
    for extra, lines in {"": project["dependencies"], **extras}.items():
        for line in lines:
            found.setdefault(normal(line), extra)
    del found["pykbroker"]
    return found


def locked() -> dict[str, str]:
    """The packages of the image, and the version of each."""
    return {normal(name): version for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", LOCK.read_text())}


def normal(requirement: str) -> str:
    """The name of a requirement, as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()  # type: ignore[index]


def licence(name: str) -> str | None:
    """The licence that an installed package states; None if it is not installed."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    classifiers = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or () if "License ::" in line]
    stated = metadata.get("License-Expression") or (metadata.get("License") or "").strip().partition("\n")[0]
    if stated and len(stated) < 60:
        return _SPDX.get(stated, stated)
    return " OR ".join(_SPDX.get(each, each) for each in classifiers) or "not stated"


def table() -> str:
    """The table of docs/licences.md, of what is installed here."""
    extras = declared()
    rows = ["| package | licence | needed by |", "|---|---|---|"]
    for name in sorted(extras.keys() | locked().keys()):
        by = "another package" if name not in extras else f"`{extras[name]}`" if extras[name] else "always"
        rows.append(f"| {name} | {licence(name) or 'not installed'} | {by} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
