"""Sentences on logs, topics' defaults and replicas."""

from pykbroker.config.documentation.topics import TOPICS
from pykbroker.config.topic_synonyms import TOPIC_SYNONYMS

_BEHIND_TOPICS = {
    behind[0][0]: f"{TOPICS[name]} For topics that do not set {name}." for name, behind in TOPIC_SYNONYMS.items()
}

LOGS = {
    **_BEHIND_TOPICS,
    "auto.create.topics.enable": "Whether a topic is created when a client first asks for it.",
    "auto.leader.rebalance.enable": "Whether leadership goes back to the preferred replica by itself.",
    "cordoned.log.dirs": "Log directories that get no new replicas; * is all of them.",
    "default.replication.factor": "Replicas of a topic created without a number.",
    "delete.topic.enable": "Whether topics can be deleted.",
    "leader.imbalance.check.interval.seconds": "How often it is looked whether leadership should go back.",
    "log.cleaner.backoff.ms": "How long compaction rests when there was nothing to do.",
    "log.cleaner.dedupe.buffer.size": "Memory for the keys of one round of compaction.",
    "log.cleaner.enable": "Whether logs are compacted at all.",
    "log.cleaner.io.buffer.load.factor": "How full the memory for keys may get.",
    "log.cleaner.io.buffer.size": "Memory for reading and writing in compaction.",
    "log.cleaner.io.max.bytes.per.second": "Bytes per second that compaction may read and write.",
    "log.cleaner.threads": "Threads that compact.",
    "log.dir": "Where logs lie, where log.dirs is not set.",
    "log.dir.failure.timeout.ms": "How long a failed log directory may go unreported before the broker stops.",
    "log.dirs": "Where logs lie.",
    "log.flush.offset.checkpoint.interval.ms": "How often it is written down up to where logs are synced.",
    "log.flush.scheduler.interval.ms": "How often it is looked for logs to sync.",
    "log.flush.start.offset.checkpoint.interval.ms": "How often it is written down where logs begin.",
    "log.initial.task.delay.ms": "How long after the start the rounds over the logs begin.",
    "log.retention.check.interval.ms": "How often it is looked for segments to drop.",
    "log.retention.hours": "As log.retention.ms, in hours; where neither that nor the one in minutes is set.",
    "log.retention.minutes": "As log.retention.ms, in minutes; where that is not set.",
    "log.roll.hours": "As log.roll.ms, in hours; where that is not set.",
    "log.roll.jitter.hours": "As log.roll.jitter.ms, in hours; where that is not set.",
    "num.partitions": "Partitions of a topic created without a number.",
    "num.recovery.threads.per.data.dir": "Threads that recover logs at the start and sync them at the end.",
    "num.replica.alter.log.dirs.threads": "Threads that move replicas between log directories.",
    "num.replica.fetchers": "Threads that fetch from each leader.",
    "replica.fetch.backoff.ms": "How long a follower rests after a failed fetch.",
    "replica.fetch.max.bytes": "The most a follower fetches of one partition at a time.",
    "replica.fetch.min.bytes": "The least a leader sends a follower before the wait is over.",
    "replica.fetch.response.max.bytes": "The most a follower fetches at a time.",
    "replica.fetch.wait.max.ms": "How long a follower's fetch may wait for data.",
    "replica.high.watermark.checkpoint.interval.ms": "How often high watermarks are written down.",
    "replica.lag.time.max.ms": "A follower that has not caught up for this long is no longer in sync.",
    "replica.selector.class": "A Java class that chooses the replica a consumer reads from. Not used by this broker.",
    "replica.socket.receive.buffer.bytes": "The receive buffer of a follower's connection to its leader.",
    "replica.socket.timeout.ms": "How long a follower waits for its leader's answer.",
    "unclean.leader.election.interval.ms": "How often it is looked for partitions that need an unclean election.",
}
