"""Sentences on the settings of groups and of client metrics subscriptions."""

GROUPS = {
    "consumer.assignment.interval.ms": "The least time between two assignments of a consumer group.",
    "consumer.assignor.offload.enable": "Whether assignments of a consumer group are computed in the background. This broker "
    "computes those of large groups there, and others at once.",
    "consumer.heartbeat.interval.ms": "How often members of a consumer group are told to send heartbeats.",
    "consumer.session.timeout.ms": "A member of a consumer group that sends no heartbeat for this long is removed.",
    "errors.deadletterqueue.copy.record.enable": "Whether a record that a share group gives up is copied to its dead-letter "
    "topic, or only described there.",
    "errors.deadletterqueue.topic.name": "The topic that describes records which the share group gave up; empty is none.",
    "share.assignment.interval.ms": "The least time between two assignments of a share group.",
    "share.assignor.offload.enable": "Whether assignments of a share group are computed in the background. This broker "
    "computes those of large groups there, and others at once.",
    "share.auto.offset.reset": "Where a share group starts on a partition: latest, earliest, or by_duration:<ISO 8601> "
    "before now.",
    "share.delivery.count.limit": "How often a record is delivered to a share group before it is given up.",
    "share.heartbeat.interval.ms": "How often members of a share group are told to send heartbeats.",
    "share.isolation.level": "Whether a share group sees records of open and aborted transactions (read_uncommitted) or "
    "not (read_committed).",
    "share.partition.max.record.locks": "How many records of a partition a share group may hold at a time.",
    "share.record.lock.duration.ms": "How long a record is held for the member of a share group that got it.",
    "share.renew.acknowledge.enable": "Whether members of a share group may prolong their hold on a record.",
    "share.session.timeout.ms": "A member of a share group that sends no heartbeat for this long is removed.",
    "streams.acceptable.recovery.lag": "A client with no more than this many offsets to restore may get a task at once.",
    "streams.assignment.interval.ms": "The least time between two assignments of a streams group.",
    "streams.assignor.name": "The assignor of the streams group, one of group.streams.assignors.",
    "streams.assignor.offload.enable": "Whether assignments of a streams group are computed in the background. This broker "
    "computes those of large groups there, and others at once.",
    "streams.heartbeat.interval.ms": "How often members of a streams group are told to send heartbeats.",
    "streams.initial.rebalance.delay.ms": "How long a new streams group waits for more members before its first "
    "assignment.",
    "streams.num.standby.replicas": "How many standby copies each stateful task of a streams group has.",
    "streams.num.warmup.replicas": "How many warm-up copies of tasks a streams group may have at a time.",
    "streams.rack.aware.assignment.tags": "Tags of clients over which standby copies are distributed.",
    "streams.session.timeout.ms": "A member of a streams group that sends no heartbeat for this long is removed.",
    "streams.task.offset.interval.ms": "How often members of a streams group are told to send the offsets of their tasks.",
}

CLIENT_METRICS = {
    "interval.ms": "How often a matching client pushes its metrics.",
    "match": "Which clients the subscription is for, as property=regular expression; an empty list is all of them.",
    "metrics": "Prefixes of the metrics that are asked for; * is all of them.",
}
