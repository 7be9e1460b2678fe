"""Subjects, two versions side by side, and where a schema is used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from pykbroker.testing import Kafka

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
NOTED = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"note","type":"string","default":""}]}'


@pytest.fixture(scope="module")
def registered() -> Iterator[Kafka]:
    with Kafka(http=0, schema_registry=True) as found:
        found.schemas.register("orders-value", ORDER)
        found.schemas.register("orders-value", NOTED)
        found.schemas.register("copies-value", NOTED)
        found.schemas.register("<img src=x>", '"string"')
        found.create_topic("orders")
        yield found


def test_subjects_and_the_versions_of_one(opened, registered):
    page = opened("schemas", at=registered.http_address)
    expect(page.locator("tbody tr")).to_have_count(3)
    page.fill("input[type=search]", "ORDERS")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.click("a:text-is('orders-value')")
    expect(page.locator("h1")).to_have_text("orders-value")
    expect(page.locator(".view")).to_contain_text("Compatibility: BACKWARD")
    expect(page.locator(".versions section")).to_have_count(2)
    left, right = page.locator(".versions section").all()
    expect(left).to_contain_text("Version 1: AVRO, id 1")
    expect(right).to_contain_text("Version 2: AVRO, id 2")
    expect(right.locator(".new", has_text="note")).to_have_count(1)
    assert "note" in "".join(right.locator(".new").all_text_contents())
    expect(right).to_contain_text("Used by orders-value 2, copies-value 1")
    page.select_option("select >> nth=1", "1")
    expect(page.locator(".versions .new")).to_have_count(0)
    page.click("a:text-is('orders')")
    expect(page.locator("h1")).to_have_text("orders")


def test_without_a_registry_it_is_said(opened, kafka):
    expect(opened("schemas").locator("tbody")).to_contain_text("No schema registry is known")


def test_a_subject_that_is_not_there(opened, registered):
    page = opened("subject?name=none", at=registered.http_address, complaints=("404",))
    expect(page.locator(".failed")).to_contain_text("Subject 'none' not found")
