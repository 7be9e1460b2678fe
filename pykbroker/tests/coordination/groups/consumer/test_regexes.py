"""Subscriptions by pattern: when they are resolved, and what members and groups notice of it."""

import pytest

from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.tests.coordination.groups.consumer.harness import REBALANCE_MS, ConsumerHarness, persisted
from pykbroker.wire.errors import ErrorCode


@pytest.fixture
def h() -> ConsumerHarness:
    harness = ConsumerHarness()
    harness.topic("a1", 1)
    harness.topic("b1", 1)
    return harness


def enters(h, member_id, pattern):
    return h.beat(member_id, 0, owned=set(), subscribed_topic_regex=pattern, rebalance_timeout_ms=REBALANCE_MS)


def epoch_of(h, member_id="one") -> int:
    return h.consumers.members[member_id].epoch


def assigned(h, member_id="one"):
    return {h.around.topic_name(topic_id) for topic_id in h.consumers.members[member_id].assigned}


def test_a_pattern_is_resolved_after_the_heartbeat_that_brought_it(h):
    answer = enters(h, "one", "a.*")
    assert (answer.member_epoch, answer.assignment.topic_partitions) == (1, [])
    assert h.consumers.regexes["a.*"].topics == {"a1"}
    assert h.beat("one", 1).member_epoch == 2
    assert assigned(h) == {"a1"}
    before = persisted(h.consumers)
    h.restart()
    assert persisted(h.consumers) == before


def test_the_whole_name_has_to_match(h):
    enters(h, "one", "a")
    assert h.consumers.regexes["a"].topics == frozenset()


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", "*"])
def test_what_is_no_pattern_is_refused(h, pattern):
    code, message = h.refusal("one", 0, owned=set(), subscribed_topic_regex=pattern, rebalance_timeout_ms=1)
    assert code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert message.startswith(f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: ")
    assert h.shard.groups == {}


def test_a_pattern_that_another_member_has_counts_at_once(h):
    enters(h, "one", "a.*")
    h.beat("one", 1)
    assert enters(h, "two", "a.*").member_epoch == 3


def test_new_topics_are_found_ten_seconds_later(h):
    enters(h, "one", "a.*")
    h.beat("one", 1)
    h.topic("a2", 1)
    h.advance(10_000)
    h.beat("one", 2)
    assert h.consumers.regexes["a.*"].topics == {"a1"}
    h.advance(1)
    h.beat("one", 2)
    assert h.consumers.regexes["a.*"].topics == {"a1", "a2"}
    h.beat("one", 2)
    assert assigned(h) == {"a1", "a2"}


def test_a_topic_that_went_is_noticed_by_its_metadata(h):
    enters(h, "one", "a.*")
    h.beat("one", 1)
    h.delete_topic("a1")
    h.beat("one", 2, owned=set())
    assert assigned(h) == set()
    assert epoch_of(h) == 3


def test_patterns_are_looked_at_again_from_time_to_time(h):
    enters(h, "one", "a.*")
    for _ in range(20):
        h.advance(30_000)
        h.beat("one", epoch_of(h))
    before = h.consumers.regexes["a.*"].timestamp_ms
    h.advance(1)
    h.beat("one", epoch_of(h))
    assert h.consumers.regexes["a.*"].timestamp_ms > before


def test_a_pattern_nobody_has_any_more_is_forgotten(h):
    enters(h, "one", "a.*")
    h.beat("one", 1)
    h.beat("one", 2, owned=set(), subscribed_topic_regex="b.*")
    assert "a.*" not in h.consumers.regexes
    h.advance(10_001)
    h.beat("one", epoch_of(h), owned=set())
    h.beat("one", epoch_of(h), owned=set())
    assert assigned(h) == {"b1"}
    h.beat("one", -1)
    assert h.consumers.regexes == {}


def test_names_and_a_pattern_add_up(h):
    h.beat("one", 0, ["b1"], owned=set(), subscribed_topic_regex="a.*", rebalance_timeout_ms=REBALANCE_MS)
    h.beat("one", epoch_of(h))
    assert assigned(h) == {"a1", "b1"}
    h.beat("one", epoch_of(h), subscribed_topic_regex="", owned={("b1", 0)})
    assert assigned(h) == {"b1"}


def test_a_pattern_that_others_still_have_stays(h):
    enters(h, "one", "a.*")
    enters(h, "two", "a.*")
    h.beat("one", epoch_of(h), subscribed_topic_regex="b.*")
    assert h.consumers.regexes["a.*"].topics == {"a1"}


def test_the_topics_of_a_former_pattern_no_longer_matter(h):
    h.beat("one", 0, ["b1"], owned=set(), subscribed_topic_regex="a.*", rebalance_timeout_ms=REBALANCE_MS)
    h.beat("one", epoch_of(h), subscribed_topic_regex="", owned=set())
    assert h.consumers.metadata_hash == metadata_hash(["b1"], h.around.image)
