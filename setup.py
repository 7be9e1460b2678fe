"""What pyproject.toml cannot say: where packages are built, and how the README reads where its neighbours are missing."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from setuptools import setup


def description() -> str:
    """The README for a package index: no pictures and no links to files beside it, whose names stay."""
    text = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[[^\]]*\]\((?!https://)[^)]*\)\n+", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\((?!https://|#)[^)]*\)", r"\1", text)


# setuptools packs all that lies in its build folder, an earlier build's modules too: each build has a folder of its own.
with tempfile.TemporaryDirectory(prefix="pykbroker-build-") as folder:
    setup(
        long_description=description(),
        long_description_content_type="text/markdown",
        options={"build": {"build_base": folder}},
    )
