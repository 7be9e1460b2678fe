"""There is a sentence on every setting that is described, and none on a setting that is not there."""

import re
from pathlib import Path

import pytest

from pykbroker.config.definitions.broker import DYNAMIC_SETTINGS
from pykbroker.config.definitions.client_metrics import CLIENT_METRICS_SETTINGS
from pykbroker.config.definitions.groups import GROUP_SETTINGS
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.config.documentation import _SENTENCES, documentation
from pykbroker.metadata.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE


@pytest.mark.parametrize(
    ("resource_type", "settings"),
    [
        (TOPIC_RESOURCE, TOPIC_SETTINGS),
        (BROKER_RESOURCE, DYNAMIC_SETTINGS),
        (GROUP_RESOURCE, GROUP_SETTINGS),
        (CLIENT_METRICS_RESOURCE, CLIENT_METRICS_SETTINGS),
    ],
)
def test_every_setting_has_its_sentence(resource_type, settings):
    described = {name for name, setting in settings.items() if not setting.internal}
    sentences = _SENTENCES[resource_type]
    assert described <= sentences.keys() <= settings.keys()
    assert all(sentence.endswith(".") for sentence in sentences.values())


def test_unknown_names_have_none():
    assert documentation(BROKER_RESOURCE, "foo") is None


def test_settings_that_kafka_does_not_have_are_internal_and_on_the_page():
    own = {
        setting.name: setting
        for table in (DYNAMIC_SETTINGS, TOPIC_SETTINGS, GROUP_SETTINGS)
        for setting in table.values()
        if setting.is_own
    }
    assert all(setting.internal for setting in own.values())
    page = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
    section = page.partition("### Settings of our own")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)) == own.keys()
