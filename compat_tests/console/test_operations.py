"""What an operator does in the page: groups, transactions, brokers, settings, faults, and the picture of it all."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer
from playwright.sync_api import expect


def test_the_picture_of_what_goes_through(opened, kafka):
    kafka.create_topic("pulse")
    page = opened()
    expect(page.locator(".tile >> nth=0")).to_contain_text("2")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    chart = page.locator("section:has-text('Produced records per second')")
    drawn = chart.locator("path.line")
    requests = page.locator("[aria-label='Requests of clients']")
    while (
        "L" not in (drawn.get_attribute("d") or "")
        or "records 0" in chart.inner_text()
        or "Produce" not in requests.inner_text()
    ):
        producer.produce("pulse", "x")
        assert producer.flush(60) == 0


def test_a_group_its_lag_and_its_reset(opened, kafka):
    kafka.create_topic("lagging", 2)
    for number in range(7):
        kafka.produce("lagging", str(number), partition=0)
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "slow",
            "auto.offset.reset": "earliest",
            "client.id": "one",
        }
    )
    consumer.subscribe(["lagging"])
    message = consumer.poll(60)
    consumer.commit(message, asynchronous=False)
    page = opened("groups")
    page.click("td a:text-is('slow')")
    expect(page.locator(".facts")).to_contain_text("lag 6")
    expect(page.locator("[aria-label=Members] td >> nth=0")).to_have_text("one")
    consumer.close()
    expect(page.locator("[aria-label=Members]")).to_contain_text("The group has no members.")
    page.click("button:text-is('Reset offsets')")
    page.select_option("dialog select", "latest")
    page.click("dialog button[type=submit]")
    expect(page.locator(".facts")).to_contain_text("lag 0")
    assert kafka.committed("slow")["lagging", 0] == 7
    page.click("button:text-is('Reset offsets')")
    for chosen, shown in (("earliest", []), ("offset", ["The offset"]), ("time", ["The time"]), ("latest", [])):
        page.select_option("dialog select", chosen)
        expect(page.locator("dialog label:visible > span:text-matches('^The (time|offset)$')")).to_have_text(shown)
    page.select_option("dialog select", "offset")
    page.click("dialog button[type=submit]")  # the browser asks for the offset first
    page.fill("dialog input[type=number]", "3")
    page.select_option("dialog select", "time")
    page.fill("dialog input[type=datetime-local]", "2001-01-01T00:00:00")
    page.click("dialog button[type=submit]")
    expect(page.locator(".facts")).to_contain_text("lag 7")
    page.click("button:text-is('Reset offsets')")
    page.select_option("dialog select", "offset")
    page.fill("dialog input[type=number]", "3")
    page.click("dialog button[type=submit]")
    expect(page.locator(".facts")).to_contain_text("lag 4")
    page.click("button:text-is('Delete group')")
    page.fill("dialog input", "slow")
    page.click("dialog button[type=submit]")
    expect(page.locator("h1")).to_have_text("Groups")
    assert kafka.group("slow").state == "Dead"


def test_a_transaction_that_hangs_is_aborted(opened, kafka):
    kafka.create_topic("hanging")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "hangs"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("hanging", "x")
    assert producer.flush(60) == 0
    page = opened("transactions?state=Ongoing")
    page.click("[aria-label='Abort hangs']")
    page.click("dialog button[type=submit]")
    expect(page.locator("tbody")).to_contain_text("No transactional id matches.")
    assert kafka.records("hanging") == []


def test_a_broker_is_stopped_and_started(opened, kafka):
    page = opened("brokers")
    second = page.locator("[aria-label=Brokers] tbody tr >> nth=1")
    second.locator("[aria-label='Stop broker 2']").click()
    page.click("dialog button[type=submit]")
    expect(second).to_contain_text("stopped")
    second.locator("[aria-label='Start broker 2']").click()
    expect(second).to_contain_text("running")


def test_a_setting_is_found_explained_and_changed(opened, kafka):
    kafka.create_topic("settings")
    page = opened("topic?name=settings&tab=settings", complaints=("409",))
    page.fill("input[type=search]", "max.message")
    setting = page.locator(".setting")
    expect(setting).to_have_count(1)
    expect(setting.locator("p")).to_contain_text("largest", ignore_case=True)
    page.click("[aria-label='Change max.message.bytes']")
    page.fill("dialog input", "many")
    page.click("dialog button[type=submit]")
    expect(page.locator("dialog .wrong")).to_contain_text("INVALID_CONFIG")
    page.fill("dialog input", "2000")
    page.click("dialog button[type=submit]")
    expect(setting).to_contain_text("of the topic")
    expect(setting.locator("code")).to_have_text("2000")
    page.click("[aria-label='Change max.message.bytes']")
    page.click("text=Remove this value")
    expect(setting.locator("code")).to_have_text("1048588")


def test_a_fault_begins_acts_and_ends(opened, kafka):
    kafka.create_topic("faulty")
    page = opened("faults")
    page.click("button:text-is('New fault')")
    page.fill("dialog input", "Produce topic=faulty error=NOT_LEADER_OR_FOLLOWER times=1")
    page.click("dialog button[type=submit]")
    rule = page.locator("[aria-label=Faults] tbody tr")
    expect(rule).to_contain_text("topic=faulty")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("faulty", "x")
    assert producer.flush(60) == 0
    expect(rule.locator("td >> nth=3")).to_have_text("1")
    rule.locator("button").click()
    expect(rule).to_contain_text("There are no faults.")
    assert kafka.node.faults.book.rules == {}
