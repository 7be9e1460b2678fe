"""The page without a mouse."""

from __future__ import annotations

from playwright.sync_api import expect

from compat_tests.console.test_views import VIEWS


def focused(page) -> str:
    return page.evaluate("document.activeElement.textContent || document.activeElement.getAttribute('aria-label')")


def test_the_order_of_the_tab_key_and_that_the_focus_is_seen(opened):
    page = opened("topics")
    seen = []
    for _ in range(16):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", seen[-1]
    assert seen[:2] == ["To the content", "pykbroker"]
    assert seen[2:14] == list(VIEWS.values())
    assert seen[15] == "Filter topics by name"
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "?"


def test_keys_lead_to_views_fields_and_dialogs(opened, kafka):
    kafka.create_topic("by-keys")
    page = opened()
    for key, title in zip("otgxcbshaqmf", VIEWS.values(), strict=True):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.locator("h1")).to_have_text(title)
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_contain_text("Search")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.locator("h1")).to_have_text("Topics")
    page.keyboard.press("/")
    page.keyboard.type("by-keys")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("n")
    expect(page.locator("dialog h2")).to_have_text("New topic")
    page.keyboard.type("made-by-keys")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("made-by-keys")
    assert "made-by-keys" in kafka.topics()


def test_rows_of_records_by_the_arrows(opened, kafka):
    kafka.create_topic("rows")
    for number in range(50):
        kafka.produce("rows", f"value {number}", timestamp_ms=1000 + number)
    page = opened("topic?name=rows&order=oldest")
    expect(page.locator(".status")).to_contain_text("50 records")
    page.focus(".list")
    for key in ("ArrowDown", "j", "ArrowDown", "k"):
        page.keyboard.press(key)
    expect(page.locator(".row[aria-selected=true] .value")).to_have_text("value 1")
    page.keyboard.press("End")
    expect(page.locator(".row[aria-selected=true] .value")).to_have_text("value 49")
    chosen = page.get_attribute(".list", "aria-activedescendant")
    assert page.get_attribute(".row[aria-selected=true]", "id") == chosen
    page.keyboard.press("Enter")
    expect(page.locator("pre[aria-label=Value]")).to_have_text("value 49")
    assert focused(page) == "×"  # noqa: RUF001 - the sign on the button
    page.keyboard.press("Enter")
    expect(page.locator(".detail")).to_be_hidden()
    assert page.evaluate("document.activeElement.className") == "list"


def test_escape_closes_the_record(opened, kafka):
    kafka.create_topic("closed-by-escape")
    kafka.produce("closed-by-escape", "x")
    page = opened("topic?name=closed-by-escape")
    expect(page.locator(".row")).to_have_count(1)
    page.focus(".list")
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".detail")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".detail")).to_be_hidden()
    assert page.evaluate("document.activeElement.className") == "list"


def test_the_focus_stays_where_it_is_when_a_table_is_drawn_anew(opened, kafka):
    page = opened("brokers")
    page.focus("[aria-label='Stop broker 2']")
    page.evaluate("window.old = document.activeElement")
    page.evaluate(
        "new Promise((done) => { const look = () => (window.old.isConnected ? setTimeout(look, 50) : done()); look(); })"
    )
    assert focused(page) == "Stop"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Stop broker 2"


def test_the_focus_goes_back_to_what_opened_a_dialog(opened, kafka):
    kafka.create_topic("focused")
    page = opened("topic?name=focused&tab=settings")
    page.fill("input[type=search]", "max.message")
    page.focus("[aria-label='Change max.message.bytes']")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("5000")
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator(".setting code")).to_have_text("5000")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Change max.message.bytes"


def test_the_focus_stays_on_the_button_that_turns_pages(opened, kafka):
    kafka.create_topic("of-many", 180)
    page = opened("topic?name=of-many&tab=partitions")
    page.focus(".pager button:last-of-type")
    for first in ("51", "101"):
        page.keyboard.press("Enter")
        expect(page.locator(".pager")).to_contain_text(first)
        assert page.evaluate("document.activeElement.matches('.pager button:last-of-type')")


def test_an_error_is_said_in_the_dialog_that_made_it(opened):
    page = opened("faults", complaints=("400",))
    page.keyboard.press("n")
    page.keyboard.type("Fetch dealy=1")
    page.keyboard.press("Enter")
    expect(page.locator("dialog [role=alert]")).to_contain_text("did you mean delay?")
    assert page.locator(".toast").count() == 0
