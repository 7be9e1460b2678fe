"""Every view, in light and dark, on a screen and on a phone."""

from __future__ import annotations

import re

from playwright.sync_api import expect

VIEWS = {
    "overview": "Overview",
    "topics": "Topics",
    "groups": "Groups",
    "transactions": "Transactions",
    "clients": "Clients",
    "brokers": "Brokers",
    "settings": "Settings",
    "schemas": "Schemas",
    "acls": "Access lists",
    "quotas": "Quotas",
    "metadata": "Metadata log",
    "faults": "Faults",
}


def test_every_view_opens_and_the_way_between_them(opened, kafka):
    kafka.create_topic("seen", 3)
    page = opened("nothing-of-the-kind")
    for title in VIEWS.values():
        page.click(f"#nav a:text-is('{title}')")
        expect(page.locator("h1")).to_have_text(title)
        expect(page.locator("#nav a[aria-current=page]")).to_have_text(title)
        expect(page).to_have_title(re.compile(f"^{title} . pykbroker$"))
    page.goto(page.url.partition("#")[0] + "#/topic?name=seen")
    for tab in ("Partitions", "Settings", "Records"):
        page.click(f".tabs a:text-is('{tab}')")
        expect(page.locator(".tabs a[aria-current=page]")).to_have_text(tab)
        expect(page.locator("h1")).to_have_text("seen")


def test_what_is_not_there_is_said(opened):
    page = opened("topic?name=nobody", complaints=("404",))
    expect(page.locator(".failed")).to_contain_text("there is no topic nobody")


def test_it_fits_a_phone(opened, kafka):
    long = "a-name-of-a-topic-that-is-as-long-as-names-of-topics-are-in-some-companies." * 3
    if long not in kafka.topics():
        kafka.create_topic(long)
        kafka.produce(long, "x" * 5000, key="k" * 500)
    page = opened("topics", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for view in (*VIEWS, f"topic?name={long}", f"topic?name={long}&tab=partitions", f"topic?name={long}&tab=settings"):
        page.evaluate("view => { document.querySelector('h1').remove(); location.hash = `#/${view}`; }", view)
        page.wait_for_selector("main h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
    page.goto(page.url.partition("#")[0] + f"#/topic?name={long}")
    page.click(".row")
    detail = page.locator(".detail").bounding_box()
    assert (detail["x"], detail["width"]) == (0, 390)
    page.click("[aria-label='Close the record']")
    expect(page.locator(".detail")).to_be_hidden()


def contrasts_that_are_low(page):
    """WCAG's contrast of what is written small, in every kind of badge and button, is 4.5 at least."""
    return page.evaluate(
        """() => {
             const names = ["--ink", "--soft", "--accent", "--good", "--warn", "--bad", "--on-accent"];
             const on = { "--good": "--good-back", "--warn": "--warn-back", "--bad": "--bad-back", "--on-accent": "--accent" };
             const style = getComputedStyle(document.documentElement);
             const light = name => {
               const digits = style.getPropertyValue(name).trim().slice(1).match(/../g).map(each => parseInt(each, 16) / 255);
               const [r, g, b] = digits.map(each => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
               return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
             };
             const contrast = (one, other) => Math.max(light(one), light(other)) / Math.min(light(one), light(other));
             return names.flatMap(name => [on[name] ?? "--card"].concat(name in on ? [] : ["--back", "--raised"])
               .filter(back => contrast(name, back) < 4.5).map(back => [name, back, contrast(name, back)]));
           }"""
    )


def test_it_is_light_or_dark_as_the_system_is_and_can_be_read(opened):
    page = opened()
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.append(
            page.evaluate(
                """() => ["body", "h1", ".tile", "#nav a", ".now"].map(each => {
                     const style = getComputedStyle(document.querySelector(each));
                     return [style.color, style.backgroundColor];
                   })"""
            )
        )
        assert contrasts_that_are_low(page) == []
    assert all(light != dark for light, dark in zip(*colours, strict=True))
