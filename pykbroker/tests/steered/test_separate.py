"""A broker in a process of its own: what works, and what refuses with words that say what to do."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.testing import Kafka

#: All that looks into the broker, or reaches into it.
INSIDE: dict[str, Callable[[Kafka], Any]] = {
    "advance": lambda kafka: kafka.advance("1s"),
    "broker": lambda kafka: kafka.broker(1),
    "check_served": lambda kafka: kafka.check_served(),
    "committed": lambda kafka: kafka.committed("g"),
    "create_topic": lambda kafka: kafka.create_topic("t"),
    "delete_topic": lambda kafka: kafka.delete_topic("t"),
    "disk": lambda kafka: kafka.disk,
    "export": lambda kafka: kafka.export("never-written.json"),
    "faults": lambda kafka: kafka.faults,
    "group": lambda kafka: kafka.group("g"),
    "move_coordinator": lambda kafka: kafka.move_coordinator(to=1, group="g"),
    "move_leader": lambda kafka: kafka.move_leader("t", 0, to=1),
    "node": lambda kafka: kafka.node,
    "on_reset": lambda kafka: kafka.on_reset,
    "produce": lambda kafka: kafka.produce("t", "v"),
    "recording": lambda kafka: kafka.recording("never-written.jsonl").__enter__(),
    "records": lambda kafka: kafka.records("t"),
    "renew_certificate": lambda kafka: kafka.renew_certificate(),
    "requests": lambda kafka: kafka.requests(),
    "reset": lambda kafka: kafka.reset(),
    "forget_snapshots": lambda kafka: kafka.forget_snapshots(),
    "forget_hooks": lambda kafka: kafka.forget_hooks(),
    "restore": lambda kafka: kafka.restore("s"),
    "run_compaction": lambda kafka: kafka.run_compaction(),
    "run_retention": lambda kafka: kafka.run_retention(),
    "seed": lambda kafka: kafka.seed({"topics": {}}),
    "snapshot": lambda kafka: kafka.snapshot("s"),
    "topics": lambda kafka: kafka.topics(),
    "transaction": lambda kafka: kafka.transaction("t"),
    "unserved": lambda kafka: kafka.unserved(),
    "wait_for_committed": lambda kafka: kafka.wait_for_committed("g", "t", 1),
    "wait_for_group": lambda kafka: kafka.wait_for_group("g"),
    "share_group": lambda kafka: kafka.share_group("g"),
    "wait_for_share_group": lambda kafka: kafka.wait_for_share_group("g", bool),
    "subscribe_client_metrics": lambda kafka: kafka.subscribe_client_metrics(),
    "client_metrics": lambda kafka: kafka.client_metrics(),
    "wait_for_client_metrics": lambda kafka: kafka.wait_for_client_metrics(),
    "wait_for_in_sync": lambda kafka: kafka.wait_for_in_sync(),
    "wait_for_lag": lambda kafka: kafka.wait_for_lag("g"),
    "wait_for_record": lambda kafka: kafka.wait_for_record("t"),
    "wait_for_records": lambda kafka: kafka.wait_for_records("t", 1),
    "wait_for_transaction": lambda kafka: kafka.wait_for_transaction("t"),
    "wait_until": lambda kafka: kafka.wait_until(lambda _: True),
    "judge": lambda kafka: kafka.judge("t"),
}
WORKS = {
    "bootstrap_servers",
    "http_address",
    "http_token",
    "log_lines",
    "pid",
    "play",
    "running",
    "schema_registry_url",
    "schemas",
    "security",
    "start",
    "stop",
}


def test_all_of_it_works_or_says_what_to_do(tmp_path: Path) -> None:
    assert {name for name in dir(Kafka) if not name.startswith("_")} == INSIDE.keys() | WORKS
    with Kafka() as here, here.recording(tmp_path / "session.jsonl"):
        from pykbroker.client.connection import BrokerConnection

        host, _, port = here.bootstrap_servers.rpartition(":")
        BrokerConnection(host, int(port), timeout_s=5, client_id="c").close()
    with Kafka(process=True) as kafka:
        assert kafka.play(tmp_path / "session.jsonl").same
        for name, call in INSIDE.items():
            with pytest.raises(RuntimeError, match="leave process=True out, or ask with a client at bootstrap_servers"):
                pytest.fail(f"{name} gave {call(kafka)}")


@pytest.mark.deep(but=1)
@pytest.mark.parametrize(
    "protection",
    [{"security": "sasl_plaintext"}, {"authorizer.class.name": STANDARD_AUTHORIZER}],
    ids=["listener", "authorizer"],
)
def test_http_of_a_protected_broker_needs_the_token(protection: dict[str, str]) -> None:
    """As in this process."""
    with Kafka(process=True, http=0, **protection) as kafka:
        url = f"http://{kafka.http_address}/metrics"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url)
        refused.value.close()
        assert refused.value.code == 401
        asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {kafka.http_token}"})
        with urllib.request.urlopen(asked) as answer:
            assert answer.status == 200
    with Kafka(process=True, http=0) as kafka:
        assert kafka.http_token is None
