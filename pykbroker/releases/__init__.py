"""Earlier releases of Kafka that the broker emulates: their APIs, settings and different responses.

Earlier releases of Kafka (``--as-version``): each is a value (``release.py``) with its APIs, features, settings and
amendments. APIs and versions go into the dispatcher's table; protocols of later features (KIP-848, KIP-890, KIP-966) are off
because the cluster does not finalize the feature; settings, defaults and rules go into the configuration's definitions;
other differences of answers are amendments, one per API, in the place AMEND (``amendments.py``, ``over_zookeeper.py``). No
handler knows the release. Imported on request.

Other rooms know ``release.py`` alone. 2.8 is frozen: it is there for clients that still have such clusters, and follows no
change but of the broker's own tables. 3.9, the last release that runs on ZooKeeper, is the oldest that is compared in full.
"""
