"""Converts the rows of ``panels.py`` to Grafana's import format (schema version 38: Grafana 10.1 and later)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from pykbroker.http.dashboard.panels import ROWS, Panel, Query
from pykbroker.http.metrics.catalogue import everything

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_CHOSEN: Final = 'job=~"$job",instance=~"$instance"'
_NAME: Final = re.compile(r"\b(?:kafka|pykbroker)_\w+")
#: In Grafana's grid of 24 columns and rows of 30 pixels.
_SIZES: Final = {"stat": (3, 3), "timeseries": (8, 8)}
_WIDTH: Final = 24


def dashboard(rows: Mapping[str, tuple[Panel, ...]] = ROWS) -> dict[str, Any]:
    """Return the whole dashboard."""
    return {
        "uid": "pykbroker",
        "title": "pykbroker",
        "description": "Made by python -m pykbroker.http.dashboard; the metrics are described in docs/metrics.md.",
        "tags": ["kafka", "pykbroker"],
        "schemaVersion": 38,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": list(_variables())},
        "panels": list(_placed(rows)),
    }


def text() -> str:
    """Return the dashboard as the JSON that Grafana imports."""
    return json.dumps(dashboard(), indent=1) + "\n"


def expression(query: Query) -> str:
    """Return a query in Grafana's form."""
    return query.expr.replace("@", _CHOSEN)


def _variables() -> Iterator[dict[str, Any]]:
    yield {
        "name": "datasource",
        "type": "datasource",
        "label": "Source",
        "query": "prometheus",
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "refresh": 1,
    }
    yield _choice("job", "Job", "label_values(kafka_brokers, job)")
    yield _choice("instance", "Instance", 'label_values(kafka_brokers{job=~"$job"}, instance)')
    yield _choice("topic", "Topic", f"label_values(kafka_topic_partitions{{{_CHOSEN}}}, topic)")
    yield _choice("group", "Group", f"label_values(kafka_consumergroup_members{{{_CHOSEN}}}, consumergroup)")


def _choice(name: str, label: str, query: str) -> dict[str, Any]:
    """Return a variable with all values selected. Series without the label (sums of all topics) are not among them."""
    return {
        "name": name,
        "type": "query",
        "label": label,
        "hide": 0,
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def _placed(rows: Mapping[str, tuple[Panel, ...]]) -> Iterator[dict[str, Any]]:
    numbers = count(1)
    y = 0
    for title, panels in rows.items():
        place = {"x": 0, "y": y, "w": _WIDTH, "h": 1}
        yield {
            "id": next(numbers),
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": place,
            "panels": [],
        }
        y += 1
        x = 0
        for panel in panels:
            width, height = _SIZES[panel.kind]
            if x + width > _WIDTH:
                x, y = 0, y + height
            yield {"id": next(numbers), "gridPos": {"x": x, "y": y, "w": width, "h": height}, **_panel(panel)}
            x += width
        y += height


def _panel(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.bad is not None:
        steps.append({"color": "red", "value": panel.bad})
    defaults: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind == "timeseries":
        defaults |= {"min": 0, "custom": {"fillOpacity": 10, "showPoints": "never"}}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": _description(panel),
        "datasource": _SOURCE,
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": _SOURCE,
                "expr": expression(query),
                "legendFormat": query.legend,
            }
            for place, query in enumerate(panel.queries)
        ],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _OPTIONS[panel.kind],
    }


_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "stat": {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "textMode": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
    "timeseries": {
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
}


def _description(panel: Panel) -> str:
    """Return the meaning of a panel's metrics, with what to do when they change."""
    known = {each.name: each for metrics in everything().values() for each in metrics}
    names = dict.fromkeys(name for query in panel.queries for name in _NAME.findall(query.expr))
    found = dict.fromkeys(
        known[name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")]
        if name not in known
        else known[name]
        for name in names
    )
    return "\n\n".join(f"**{each.name}** {each.meaning} *{each.moves}*" for each in found)
