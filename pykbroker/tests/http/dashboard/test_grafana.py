"""The Grafana dashboard: as the panels have it, in Grafana's own types, with metrics and labels that there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from pykbroker.http.dashboard.grafana import dashboard
from pykbroker.http.dashboard.panels import ROWS, Query
from pykbroker.http.metrics.catalogue import everything

METRICS = {each.name: set(each.labels) for metrics in everything().values() for each in metrics}
#: What is there only in the samples of a histogram or a summary, and what Prometheus itself adds.
_MORE = {"le", "quantile", "instance", "job"}
#: Of prometheus_client.
_OF_OTHERS = {"python_gc_collections_total": {"generation"}}


def test_the_command_prints_it() -> None:
    command = [sys.executable, "-P", "-m", "pykbroker.http.dashboard"]
    assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout) == dashboard()


def test_grafana_knows_every_word_of_it() -> None:
    """Its types drop what they do not know."""
    register_default_plugins()
    made = dashboard()
    assert list(lost(made, json.loads(JSONEncoder().encode(Dashboard.from_json(made))))) == []


def lost(said: Any, understood: Any, path: str = "") -> Iterator[str]:
    if isinstance(said, dict) and isinstance(understood, dict):
        for name, value in said.items():
            yield from lost(value, understood.get(name, "nothing"), f"{path}/{name}")
    elif isinstance(said, list) and isinstance(understood, list) and len(said) == len(understood):
        for number, value in enumerate(said):
            yield from lost(value, understood[number], f"{path}/{number}")
    elif said != understood:
        yield f"{path}: {understood!r} for {said!r}"


def test_what_grafana_does_not_know_is_found() -> None:
    made = dashboard()
    made["panels"][1]["optoins"] = {}
    assert list(lost(made, json.loads(JSONEncoder().encode(Dashboard.from_json(made))))) == [
        "/panels/1/optoins: 'nothing' for {}"
    ]


def test_panels_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])


def queries() -> list[Query]:
    return [query for panels in ROWS.values() for panel in panels for query in panel.queries]


def test_every_metric_and_label_is_there() -> None:
    for query in queries():
        names = names_in(query.expr)
        assert names, query
        known = [labels_of(name) for name in names]
        labels = re.findall(r"(\w+)(?:=~|!~|!=|=)\"", query.expr)
        labels += [each.strip() for inner in re.findall(r"by \(([^)]*)\)", query.expr) for each in inner.split(",")]
        for label in labels:
            assert all(label in each for each in known), (query, label)


def test_a_line_is_named_by_labels_that_are_left() -> None:
    for query in queries():
        shown = set(re.findall(r"{{(\w+)}}", query.legend))
        by = re.search(r"by \(([^)]*)\)", query.expr.replace("le, ", ""))
        left = set(by[1].split(", ")) if by else set.union(*(labels_of(name) for name in names_in(query.expr)))
        assert shown <= left, query


def names_in(expr: str) -> list[str]:
    return re.findall(r"\b(?:kafka|pykbroker|process|python)_[a-z_]+", expr)


def labels_of(name: str) -> set[str]:
    """Raises KeyError for a metric that is not there."""
    if name in _OF_OTHERS or name.startswith("process_"):
        return _OF_OTHERS.get(name, set()) | _MORE
    family = name if name in METRICS else re.sub(r"_(bucket|sum|count)$", "", name)
    return METRICS[family] | _MORE


def test_most_of_what_there_is_is_shown() -> None:
    """What is left out says nothing of its own: the same in other words, or once in a cluster's life."""
    shown = {name for query in queries() for name in re.findall(r"\b(?:kafka|pykbroker)_[a-z_]+", query.expr)}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) if name not in METRICS else name for name in shown}
    assert families <= METRICS.keys()
    assert len(families) > len(METRICS) / 2
