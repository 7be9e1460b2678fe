"""The files of the page: which there are, who gets them, and what a browser is told to refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pykbroker.http.console import page
from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import WithHttp, with_http

_FOLDER = Path(page.__file__).parent / "page"


def test_the_list_is_what_lies_there() -> None:
    assert set(page.NAMES) == {str(path.relative_to(_FOLDER)) for path in _FOLDER.rglob("*") if path.is_file()}


def test_the_files_are_served_as_they_are(http: WithHttp) -> None:
    for name in page.NAMES:
        answer = http.ask(f"/console/{name}")
        assert (answer.status, answer.body) == (200, (_FOLDER / name).read_bytes()), name
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert http.ask("/console/").body == (_FOLDER / "index.html").read_bytes()
    assert http.ask("/console/app.js").headers["Content-Type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/console"])
def test_the_way_to_the_page(http: WithHttp, path: str) -> None:
    answer = http.ask(path)
    assert (answer.status, answer.headers["Location"]) == (302, "/console/")


@pytest.mark.parametrize(
    "path",
    [
        "/console/../side.py",
        "/console/page.py",
        "/console/../../../../../../etc/passwd",
        "/console/%2e%2e/page.py",
        "/console/..%2fpage.py",
        "/console/%2fetc%2fpasswd",
        "/console/views",
        "/console/views/",
        "/console/views/../../page.py",
        "/console//app.js",
        "/console/app.js%00.html",
        "/console/app.js/",
        "/console/APP.JS",
        "/console/page/app.js",
        "/console/\\..\\page.py",
    ],
)
def test_no_path_leads_anywhere_else(http: WithHttp, path: str) -> None:
    answer = http.ask(path)
    assert answer.status == 404, path
    assert "import" not in answer.text


def test_files_are_looked_at_and_nothing_else(http: WithHttp) -> None:
    assert http.ask("/console/app.js", method="POST").status == 405


def test_a_browser_is_told_what_to_refuse(http: WithHttp) -> None:
    for path in ("/console/", "/console/app.js", "/"):
        headers = http.ask(path).headers
        policy = dict(each.strip().partition(" ")[::2] for each in headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == "'self'"
        assert (policy["frame-ancestors"], headers["X-Frame-Options"]) == ("'none'", "DENY")
        assert (policy["base-uri"], policy["form-action"]) == ("'none'", "'none'")
        assert policy["trusted-types"] == "'none'"
        assert not {"unsafe-inline", "unsafe-eval", "http:", "https:", "data:", "*"} & set(
            re.split(r"[\s';]+", str(policy))
        )


def test_nothing_of_the_page_is_from_elsewhere_or_makes_markup_of_data() -> None:
    for path in _FOLDER.rglob("*"):
        if not path.is_file():
            continue
        text = path.read_text()
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, path
        if path.suffix == ".js":
            code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
            for word in (
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "srcdoc",
            ):
                assert word not in code, (path, word)
        if path.suffix == ".html":
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", text)


def test_a_browser_gets_the_page_before_it_knows_the_token_and_nothing_more() -> None:
    with with_http(HttpOptions("127.0.0.1", 0, token="0123456789abcdef")) as http:
        assert http.ask("/console/").status == http.ask("/console/app.js").status == 200
        assert http.ask("/").status == 302
        for path in ("/console/api/overview", "/console/api/topics", "/console/api/", "/console/nothing", "/metrics"):
            assert http.ask(path).status == 401, path
        allowed = {"Authorization": "Bearer 0123456789abcdef"}
        assert http.ask("/console/api/overview", headers=allowed).status == 200
