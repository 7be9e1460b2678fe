"""The image, built once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.image.engine import Image, build


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    with build(tmp_path_factory.mktemp("image")) as built:
        yield built
