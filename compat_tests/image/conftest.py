"""The image, built once by the Dockerfile's steps in namespaces and once by each engine that answers, and networks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.image import real
from compat_tests.image.engine import Image, available, build
from compat_tests.image.networks import Networks, NoNetworks

_NAMESPACES = "namespaces"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "image" in metafunc.fixturenames:
        names = [_NAMESPACES, *(engine.name for engine in real.engines())]
        metafunc.parametrize("image", names, indirect=True, scope="session")
    if "real_image" in metafunc.fixturenames:
        engines = [engine.name for engine in real.engines()]
        metafunc.parametrize("real_image", engines, indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where no engine answers, one test says so, and those for engines alone are left out."""
    if not real.engines():
        alone = [item for item in items if "real_image" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=alone)
        items[:] = [item for item in items if item not in alone]


@pytest.fixture(scope="session")
def namespaced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The image as a folder in namespaces of this process."""
    if not available():
        pytest.skip("building without an engine needs root, namespaces and overlays")
    with build(tmp_path_factory.mktemp("image")) as built:
        yield built


@pytest.fixture(scope="session")
def built_by_engines() -> dict[str, real.RealImage]:
    return {}


@pytest.fixture(scope="session")
def image(request: pytest.FixtureRequest, built_by_engines: dict[str, real.RealImage]) -> Image | real.RealImage:
    """The image, in namespaces and of each engine that answers."""
    if request.param == _NAMESPACES:
        return request.getfixturevalue("namespaced")  # type: ignore[no-any-return]
    return _built(request.param, built_by_engines)


@pytest.fixture(scope="session")
def real_image(request: pytest.FixtureRequest, built_by_engines: dict[str, real.RealImage]) -> real.RealImage:
    """That of each engine alone."""
    return _built(request.param, built_by_engines)


def _built(name: str, built: dict[str, real.RealImage]) -> real.RealImage:
    if name not in built:
        (engine,) = (engine for engine in real.engines() if engine.name == name)
        built[name] = real.build(engine)
    return built[name]


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
