"""What a release does not have is not answered, as by itself."""

from __future__ import annotations

import pytest

from compat_tests.oracle.connection import Closed, Connection
from compat_tests.releases.brokers import AsVersion, highest
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.message import Message
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

UNSUPPORTED_VERSION = 35


def test_what_came_later_closes_the_connection(release_name: str, ours: AsVersion) -> None:
    """Every API and version that is served today, and not by the release."""
    versions = highest(release_name)
    later = [
        (key, version)
        for key, api in APIS.items()
        for version in range(versions.get(key, api.min_version - 1) + 1, api.max_version + 1)
        if key != ApiKey.API_VERSIONS
    ]
    assert len(later) > (2 if release_name == "4.3" else 20)
    for key, version in later:
        connection = Connection(ours.bootstrap)
        request: Message = APIS[key].request()
        connection.send(request, version)
        with pytest.raises(Closed):
            connection.receive_raw()
        connection.close()


def test_consumer_groups_are_refused(release_name: str, ours: AsVersion) -> None:
    """Apache Kafka 3.9 lists their APIs, and refuses them unless told otherwise; 2.8 does not know them, and 4.3 serves them."""
    for request in (ConsumerGroupHeartbeatRequest("g", member_id="m"), ConsumerGroupDescribeRequest(["g"])):
        connection = Connection(ours.bootstrap)
        if release_name == "2.8":
            with pytest.raises(Closed):
                connection.ask(request, 0)
        else:
            answer = connection.ask(request, 0)
            codes = [each.error_code for each in getattr(answer, "groups", [answer])]
            assert (codes == [UNSUPPORTED_VERSION]) is (release_name == "3.9")
        connection.close()
