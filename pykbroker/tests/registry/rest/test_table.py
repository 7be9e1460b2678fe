from __future__ import annotations

import pytest

from pykbroker.registry.errors import RegistryError
from pykbroker.registry.rest import schemas, settings, subjects
from pykbroker.registry.rest.table import ROUTES, find


def test_each_route_is_found() -> None:
    for route in ROUTES:
        path = route.path.replace("{", "x-").replace("}", "")
        found, words, query = find(route.method, path, {"a": "b"})
        assert (found, query) == (route, {"a": "b"})
        assert words == {part[1:-1]: f"x-{part[1:-1]}" for part in route.path.split("/") if part.startswith("{")}


def test_words_are_decoded_once_and_may_have_slashes() -> None:
    assert find("GET", "/subjects/a%2Fb%2520c/versions", {})[1] == {"subject": "a/b%20c"}


@pytest.mark.parametrize(
    ("path", "handler", "words", "query"),
    [
        ("/contexts/.c/subjects/s/versions", subjects.versions, {"subject": ":.c:s"}, {}),
        ("/contexts/:.c:/subjects", subjects.listed, {}, {"subjectPrefix": ":.c:"}),
        ("/contexts/.c/config", settings.config, {"subject": ":.c:"}, {}),
        ("/contexts/.c/schemas/ids/1", schemas.by_id, {"id": "1"}, {"subject": ":.c:"}),
    ],
)
def test_paths_within_a_context(path: str, handler: object, words: dict[str, str], query: dict[str, str]) -> None:
    route, *rest = find("GET", path, {})
    assert (route.handler, *rest) == (handler, words, query)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("GET", "/nope", 404), ("PATCH", "/config", 405), ("GET", "/subjects//versions/1/x/y", 404)],
)
def test_what_is_not_served_is_said(method: str, path: str, code: int) -> None:
    with pytest.raises(RegistryError) as caught:
        find(method, path, {})
    assert caught.value.code == code
