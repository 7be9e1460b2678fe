"""Who is answered on each route: with a token nobody without it, and no page of others, whatever the method."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.http.api.table import ROUTES
from pykbroker.http.console import page, router
from pykbroker.http.guard import OPEN_PATHS
from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import WithHttp, with_http
from pykbroker.tests.kit.depth import in_turn

_TOKEN = "0123456789abcdef"
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND")
_JSON = {"Content-Type": "application/json"}
_WRONG = (
    *(
        "",
        "Bearer",
        "Bearer ",
        _TOKEN,
        f"Basic {_TOKEN}",
        f"Bearer {_TOKEN[:-1]}",
        f"Bearer {_TOKEN}0",
        f"Bearer {_TOKEN.upper()}",
    ),
    *(f"Bearer {_TOKEN[:-1]}\xe9", f"Bearer {_TOKEN}, Bearer {_TOKEN}", f"Bearer\t{_TOKEN}", f"Bearer {'a' * 8000}"),
)
#: What is refused must do nothing: these would be seen.
_PATHS = (
    *(f"/api/v1{route.path}".replace("{number}", "1").replace("{id}", "1").replace("{name}", "x") for route in ROUTES),
    *(f"/console/api{path}" for path in (*router._LOOKS, *router._CHANGES)),
    *("/api/v1/openapi.json", "/api/v1/", "/api/v1", "/console/api", "/metrics", "/nothing", "/console/nothing.js"),
    *(
        "/HEALTH",
        "/health/",
        "/console/../metrics",
        "/console/%2e%2e/metrics",
        "//health",
        "/metrics?x=/health",
        "/metrics;/health",
    ),
)


@pytest.fixture(scope="module")
def guarded() -> Iterator[WithHttp]:
    with with_http(HttpOptions("127.0.0.1", 0, token=_TOKEN)) as found:
        yield found


def test_every_path_wants_the_token_by_every_method(guarded: WithHttp) -> None:
    for number, path in enumerate(dict.fromkeys(_PATHS)):
        for method in in_turn(number, _METHODS):
            answer = guarded.ask(path, method=method, headers=_JSON, body=b"{}")
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), (method, path)
    assert guarded.kafka.topics() == {}
    assert guarded.ask("/ready").status == 200


def test_every_path_wants_the_right_token(guarded: WithHttp) -> None:
    for number, path in enumerate(dict.fromkeys(_PATHS)):
        for said in in_turn(number, _WRONG):
            answer = guarded.ask(path, headers={"Authorization": said})
            assert answer.status == 401, (said, path)


def test_two_tokens_are_none(guarded: WithHttp) -> None:
    """What is in between may have looked at the other one."""
    import http.client

    connection = http.client.HTTPConnection(guarded.host, guarded.port, timeout=30)
    connection.putrequest("GET", "/metrics")
    connection.putheader("Authorization", f"Bearer {_TOKEN}")
    connection.putheader("Authorization", "Bearer another")
    connection.endheaders()
    assert connection.getresponse().status in (400, 401)
    connection.close()


def test_without_a_token_only_health_and_the_empty_page_are_there(guarded: WithHttp) -> None:
    for path in (*OPEN_PATHS, *page.PATHS):
        assert guarded.ask(path).status in (200, 302), path
        assert guarded.ask(path, method="POST", body=b"{}", headers=_JSON).status == 405, path


_FOREIGN = (
    {"Host": "evil.example"},
    {"Host": "evil"},  # by a search list of the network, or as a top-level domain
    {"Host": "localhost.evil.example"},
    {"Host": "localhost, evil.example"},
    {"Host": "localhost@evil.example"},
    {"Host": "evil.example#localhost"},
    {"Host": "evil.example."},
    {"Host": ""},
)


def test_no_path_is_answered_by_a_foreign_name() -> None:
    with with_http() as http:
        for number, path in enumerate(dict.fromkeys(_PATHS)):
            for method in ("GET", "POST", "PUT", "DELETE"):
                for headers in _FOREIGN[:1] if method != "GET" else in_turn(number, _FOREIGN):
                    answer = http.ask(path, method=method, headers={**_JSON, **headers}, body=b"{}")
                    assert answer.status == 421, (method, path, headers)
        assert http.kafka.topics() == {}


_PAGES_OF_OTHERS = (
    {"Origin": "null"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://localhost:1"},
    {"Origin": ""},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": ""},
)


def test_no_path_is_changed_by_a_page_of_others() -> None:
    changing = [(route.method, f"/api/v1{route.path}") for route in ROUTES if route.changes]
    changing += [("POST", f"/console/api{path}") for path in router._CHANGES]
    with with_http() as http:
        for number, (method, path) in enumerate(changing):
            for headers in in_turn(number, _PAGES_OF_OTHERS):
                answer = http.ask(path, method=method, headers={**_JSON, **headers}, body=b"{}")
                assert answer.status == 403, (method, path, headers)
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
                answer = http.ask(path, method=method, headers={"Content-Type": kind}, body=b"{}")
                assert answer.status == 415, (method, path, kind)
        assert http.kafka.topics() == {}
