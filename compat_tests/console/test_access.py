"""Who may do what and how much, in the page, and the log of what was decided."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from compat_tests.console.test_hostile import EVIL, nothing_ran
from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import WithHttp, with_http


@pytest.fixture(scope="module")
def authorizing() -> Iterator[WithHttp]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:console;User:ANONYMOUS",
    }
    with with_http(HttpOptions("127.0.0.1", 0), settings=settings) as http:
        yield http


def fill(page, label: str, text: str) -> None:
    page.fill(f"dialog label:has(> span:text-is('{label}')) input >> nth=0", text)


def choose(page, label: str, value: str) -> None:
    page.select_option(f"dialog label:has(> span:text-is('{label}')) select", value)


def test_an_access_list_is_added_found_and_removed(opened, authorizing):
    page = opened("acls", at=f"127.0.0.1:{authorizing.port}")
    page.keyboard.press("n")
    fill(page, "Principal", EVIL[0].join(("User:", "")))
    choose(page, "May", "DENY")
    choose(page, "Operation", "DESCRIBE_CONFIGS")
    fill(page, "Name", "orders-")
    choose(page, "The name is", "PREFIXED")
    page.click("dialog button[type=submit]")
    row = page.locator("[aria-label='Access lists'] tbody tr")
    expect(row).to_contain_text(EVIL[0])
    expect(row).to_contain_text("denied")
    expect(row).to_contain_text("prefix")
    (listed,) = authorizing.look("/acls")["acls"]
    assert (listed["name"], listed["operation"], listed["pattern"]) == ("orders-", "DESCRIBE_CONFIGS", "PREFIXED")
    page.fill("input[type=search]", "nothing of the kind")
    expect(row).to_contain_text("No access list matches.")
    page.fill("input[type=search]", "orders")
    page.click("button:text-is('Remove')")
    page.click("dialog button[type=submit]")
    expect(row).to_contain_text("No access list matches.")
    assert authorizing.look("/acls")["total"] == 0
    assert nothing_ran(page)


def test_without_an_authorizer_that_is_said(opened):
    page = opened("acls")
    expect(page.locator(".hint")).to_contain_text("everybody may do everything")
    expect(page.locator("button:text-is('New access list')")).to_be_hidden()


def test_a_quota_is_set_changed_and_taken_away(opened, kafka):
    page = opened("quotas")
    page.click("button:text-is('New quota')")
    fill(page, "User", EVIL[1])
    page.check("dialog label:has(> span:text-is('Client id')) input[type=checkbox]")
    choose(page, "Quota", "request_percentage")
    fill(page, "At most", "1000")
    page.click("dialog button[type=submit]")
    row = page.locator("[aria-label=Quotas] tbody tr")
    expect(row).to_contain_text(EVIL[1])
    expect(row).to_contain_text("all others")
    expect(row.locator("td >> nth=2")).to_have_text("1,000 %")
    page.click("button:text-is('Change')")
    fill(page, "At most", "0.5")
    page.click("dialog button[type=submit]")
    expect(row.locator("td >> nth=2")).to_have_text("0.5 %")
    page.click("button:text-is('Remove')")
    expect(row).to_contain_text("There are no quotas")
    assert nothing_ran(page)


def test_what_was_decided_stands_in_the_metadata_log(opened, kafka):
    kafka.create_topic("decided", 60)
    page = opened("metadata")
    said = page.locator("[aria-label='Metadata log'] tbody tr")
    expect(said).to_have_count(50)
    expect(said.first).to_contain_text("Partition")
    page.keyboard.press("]")
    expect(page.locator(".pager")).to_contain_text("51")
    topic = said.filter(has=page.locator("td:text-is('Topic')")).first
    topic.locator("summary").click()
    expect(topic.locator("pre")).to_contain_text('"name": "decided"')


@pytest.fixture(scope="module")
def denying() -> Iterator[WithHttp]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with with_http(HttpOptions("127.0.0.1", 0), settings=settings) as http:
        http.kafka.create_topic("hidden")
        yield http


@pytest.mark.parametrize(
    ("view", "what", "option"),
    [
        ("topics", "topic", "--topic"),
        ("groups", "group", "--group"),
        ("transactions", "transactional id", "--transactional-id"),
    ],
)
def test_nothing_is_said_to_be_empty_that_may_not_be_seen(opened, denying, view, what, option):
    page = opened(view, at=f"127.0.0.1:{denying.port}", complaints=("403",))
    expect(page.locator("tbody")).to_have_text("There is nothing that may be shown.")
    expect(page.locator(".limits")).to_have_text(
        f"User:console, who asks over HTTP, may not describe every {what}; allow it by: "
        f"pykbroker acls add --principal User:console {option} '*' --operation describe"
    )


@pytest.mark.parametrize("view", ["overview", "brokers", "faults", "acls", "quotas", "metadata", "topic?name=hidden"])
def test_a_view_that_is_denied_says_to_whom_and_how_it_is_allowed(opened, denying, view):
    page = opened(view, at=f"127.0.0.1:{denying.port}", complaints=("403",))
    expect(page.locator("h1")).to_have_text("This is denied")
    expect(page.locator("main")).to_contain_text("User:console, who asks over HTTP, may not")
    expect(page.locator("main")).to_contain_text("pykbroker acls add --principal User:console --")
    expect(page.locator("#about")).to_contain_text("version")
