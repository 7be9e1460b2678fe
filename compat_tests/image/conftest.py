"""The image, built once, and networks for its containers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.image.engine import Image, build
from compat_tests.image.networks import Networks, NoNetworks


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    with build(tmp_path_factory.mktemp("image")) as built:
        yield built


@pytest.fixture
def networks() -> Iterator[Networks]:
    made = Networks()
    try:
        made.make()
        yield made
    except NoNetworks as error:
        pytest.skip(f"networks of containers cannot be made here: {error}")
    finally:
        made.remove()
