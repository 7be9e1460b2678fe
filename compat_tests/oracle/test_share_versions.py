"""A share group while share.version falls to a level without share groups, and rises again, in both brokers."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from compat_tests.harness.awaiting import until
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.share_groups import acknowledges, fetches
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.share_member import SETTINGS, ShareMember, in_both
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

_ACCEPT = 1
_UPGRADE, _UNSAFE_DOWNGRADE = 1, 3


class _Story(ShareMember):
    def to_level(self, level: int, kind: int) -> None:
        """The level of share.version, as the broker knows it, too."""
        change = FeatureUpdateKey("share.version", level, upgrade_type=kind)
        assert self.ask.quietly(UpdateFeaturesRequest(60_000, [change], False), 2).error_code == ErrorCode.NONE
        no_epoch = acknowledges(self.ask, self.group, self.topic, -5)
        until(
            lambda: (self._answered(no_epoch)[0] == ErrorCode.UNSUPPORTED_VERSION) == (level == 0),
            "the level is the same",
        )

    def fetched(self) -> Any:
        return self._answered(fetches(self.ask, self.group, self.topic, self.epoch))

    def acknowledged(self, offset: int) -> Any:
        said = acknowledges(self.ask, self.group, self.topic, self.epoch, (offset, offset, [_ACCEPT]))
        return self._answered(said)

    def _answered(self, request: Any) -> Any:
        answer = self.ask.quietly(request, 2)
        parts = [part for topic in answer.responses for part in topic.partitions]
        return answer.error_code, [part.error_code for part in parts]


def _answers(broker: BrokerProcess) -> dict[str, Any]:
    broker.start()
    ask = Ask(broker.bootstrap, 2, "versions")
    with closing(ask):
        ask.wait_for_coordinators()
        topic = ask.topic()
        ask.fill(topic, 3)
        story = _Story(ask, topic)
        answers: dict[str, Any] = {"acquired": story.acquires()}
        story.to_level(1, _UNSAFE_DOWNGRADE)
        answers["at level 1"] = story.acknowledged(0)
        story.epoch += 1
        story.to_level(0, _UNSAFE_DOWNGRADE)
        answers["at level 0"] = story.fetched(), story.acknowledged(1)
        story.to_level(2, _UPGRADE)
        answers["at level 2"] = story.fetched(), story.acknowledged(1)
        story.epoch = 0
        answers["acquired again"] = story.acquires()
    return answers


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    return in_both(tmp_path_factory.mktemp("versions"), SETTINGS, _answers)


def test_sessions_and_what_is_acquired_are_forgotten_and_nothing_is_counted(
    answers: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    kafkas, ours = answers
    assert ours == kafkas
    assert ours["at level 2"][0][0] == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert ours["acquired again"] == [(1, 2, 1)]
