"""What this broker does with each of Kafka's configuration names (topics, brokers, groups, client metrics).

- ENFORCED: code here reads it and acts on it.
- REFUSED: it promises protection, a limit or a behaviour that is not here. Any value but the default is refused
  (`config_refusals`), because a node that starts with it would look protected.
- NO_EFFECT: sizes, threads and intervals of parts that are built differently here, or of share and streams groups,
  which are not here. Accepted, because configurations made for Apache Kafka carry them; the node's log says so.

Each name of `kafka_configs` is in exactly one of the three; a test holds that, and that code reads each enforced name.
"""

from __future__ import annotations

from typing import Final


def _names(text: str) -> list[str]:
    return text.split()


ENFORCED: Final[frozenset[str]] = frozenset(
    # topics
    _names(
        """
        cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
        delete.retention.ms file.delete.delay.ms flush.messages flush.ms follower.replication.throttled.replicas
        index.interval.bytes internal.segment.bytes leader.replication.throttled.replicas local.retention.bytes
        local.retention.ms max.compaction.lag.ms max.message.bytes message.timestamp.after.max.ms
        message.timestamp.before.max.ms message.timestamp.type min.cleanable.dirty.ratio min.compaction.lag.ms
        min.insync.replicas remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable retention.bytes
        retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms tapelog.acks tapelog.flush
        tapelog.max.bytes tapelog.max.bytes.policy tapelog.tier.hold tapelog.tier.restore
        unclean.leader.election.enable
        """
    )
    # brokers, among them the defaults of topics and groups
    + _names(
        """
        add.partitions.to.txn.retry.backoff.max.ms advertised.listeners auto.create.topics.enable
        auto.leader.rebalance.enable broker.heartbeat.interval.ms broker.id broker.rack broker.session.timeout.ms
        connections.max.idle.ms controlled.shutdown.enable controller.listener.names
        controller.quorum.auto.join.enable controller.quorum.bootstrap.servers
        controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
        controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes
        controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
        controller.quorum.voters cordoned.log.dirs default.replication.factor delete.topic.enable fetch.max.bytes
        follower.replication.throttled.rate group.consumer.assignment.interval.ms group.consumer.assignors
        group.consumer.heartbeat.interval.ms group.consumer.max.assignment.interval.ms
        group.consumer.max.heartbeat.interval.ms group.consumer.max.session.timeout.ms group.consumer.max.size
        group.consumer.migration.policy group.consumer.min.assignment.interval.ms
        group.consumer.min.heartbeat.interval.ms group.consumer.min.session.timeout.ms
        group.consumer.regex.refresh.interval.ms group.consumer.session.timeout.ms
        group.coordinator.rebalance.protocols group.initial.rebalance.delay.ms group.max.session.timeout.ms
        group.max.size group.min.session.timeout.ms inter.broker.listener.name leader.imbalance.check.interval.seconds
        leader.replication.throttled.rate listener.security.protocol.map listeners log.cleaner.backoff.ms
        log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms log.cleaner.enable
        log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second
        log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms
        log.cleaner.threads log.cleanup.policy log.dir log.dir.failure.timeout.ms log.dirs log.flush.interval.messages
        log.flush.interval.ms log.flush.scheduler.interval.ms log.index.interval.bytes log.index.size.max.bytes
        log.local.retention.bytes log.local.retention.ms log.message.timestamp.after.max.ms
        log.message.timestamp.before.max.ms log.message.timestamp.type log.retention.bytes
        log.retention.check.interval.ms log.retention.hours log.retention.minutes log.retention.ms log.roll.hours
        log.roll.jitter.hours log.roll.jitter.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms
        max.connections max.connections.per.ip max.incremental.fetch.session.cache.slots
        max.request.partition.size.limit message.max.bytes metadata.log.dir
        metadata.log.max.record.bytes.between.snapshots node.id num.partitions num.replica.fetchers
        offset.metadata.max.bytes offsets.commit.timeout.ms offsets.retention.check.interval.ms
        offsets.retention.minutes offsets.topic.num.partitions offsets.topic.replication.factor
        offsets.topic.segment.bytes process.roles producer.id.expiration.check.interval.ms producer.id.expiration.ms
        queued.max.request.bytes remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
        remote.log.manager.copier.thread.pool.size remote.log.manager.copy.max.bytes.per.second
        remote.log.manager.fetch.max.bytes.per.second remote.log.manager.task.retry.backoff.max.ms
        remote.log.manager.task.retry.backoff.ms remote.log.reader.threads remote.log.storage.system.enable
        replica.alter.log.dirs.io.max.bytes.per.second replica.fetch.backoff.ms replica.fetch.max.bytes
        replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms replica.lag.time.max.ms
        replica.selector.class replica.socket.timeout.ms request.timeout.ms share.coordinator.state.topic.min.isr
        share.coordinator.state.topic.num.partitions share.coordinator.state.topic.replication.factor
        share.coordinator.state.topic.segment.bytes socket.listen.backlog.size socket.request.max.bytes
        socket.send.buffer.bytes tapelog.cleaner.flush.slowdown.max tapelog.disk.low.bytes tapelog.disk.reserve.bytes
        tapelog.max.bytes.prefixes tapelog.open.files.max tapelog.scrub.bytes.per.second tapelog.scrub.interval.ms
        tapelog.tier.cache.bytes tapelog.tier.endpoint tapelog.tier.orphan.check.interval.ms tapelog.tier.url
        tapelog.tier.verify.uploads tapelog.unflushed.max.bytes tapelog.unsent.max.bytes
        transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
        transaction.partition.verification.enable transaction.remove.expired.transaction.cleanup.interval.ms
        transaction.state.log.min.isr transaction.state.log.num.partitions transaction.state.log.replication.factor
        transaction.state.log.segment.bytes transaction.two.phase.commit.enable transactional.id.expiration.ms
        unclean.leader.election.interval.ms
        """
    )
    # groups
    + _names(
        """
        consumer.assignment.interval.ms consumer.heartbeat.interval.ms consumer.session.timeout.ms
        """
    )
)

NO_EFFECT: Final[frozenset[str]] = frozenset(
    # topics
    _names(
        """
        preallocate
        """
    )
    # brokers
    + _names(
        """
        add.partitions.to.txn.retry.backoff.ms alter.log.dirs.replication.quota.window.num
        alter.log.dirs.replication.quota.window.size.seconds background.threads
        controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
        controller.quorum.append.linger.ms controller.quota.window.num controller.quota.window.size.seconds
        controller.socket.timeout.ms delete.records.purgatory.purge.interval.requests early.start.listeners
        fetch.purgatory.purge.interval.requests follower.fetch.last.tiered.offset.enable
        group.coordinator.append.linger.ms group.coordinator.background.threads
        group.coordinator.cached.buffer.max.bytes group.coordinator.threads group.share.assignment.interval.ms
        group.share.assignors group.share.delivery.count.limit group.share.heartbeat.interval.ms
        group.share.initialize.retry.interval.ms group.share.max.assignment.interval.ms
        group.share.max.delivery.count.limit group.share.max.heartbeat.interval.ms
        group.share.max.partition.max.record.locks group.share.max.record.lock.duration.ms
        group.share.max.session.timeout.ms group.share.max.share.sessions group.share.max.size
        group.share.min.assignment.interval.ms group.share.min.delivery.count.limit
        group.share.min.heartbeat.interval.ms group.share.min.partition.max.record.locks
        group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
        group.share.partition.max.record.locks group.share.record.lock.duration.ms group.share.session.timeout.ms
        group.streams.assignment.interval.ms group.streams.heartbeat.interval.ms
        group.streams.initial.rebalance.delay.ms group.streams.max.assignment.interval.ms
        group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms group.streams.max.size
        group.streams.max.standby.replicas group.streams.min.assignment.interval.ms
        group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms
        group.streams.num.standby.replicas group.streams.session.timeout.ms initial.broker.registration.timeout.ms
        internal.metadata.delete.delay.millis internal.metadata.log.segment.bytes
        internal.metadata.max.batch.size.in.bytes kafka.metrics.polling.interval.secs
        log.flush.offset.checkpoint.interval.ms log.flush.start.offset.checkpoint.interval.ms
        log.initial.task.delay.ms log.preallocate metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes
        metadata.log.segment.ms metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms
        metrics.num.samples metrics.recording.level metrics.sample.window.ms num.io.threads num.network.threads
        num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads offsets.load.buffer.size
        offsets.topic.compression.codec producer.purgatory.purge.interval.requests queued.max.requests
        quota.window.num quota.window.size.seconds remote.log.index.file.cache.total.size.bytes
        remote.log.index.file.cache.ttl.ms remote.log.manager.copy.quota.window.num
        remote.log.manager.copy.quota.window.size.seconds remote.log.manager.expiration.thread.pool.size
        remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
        remote.log.manager.follower.thread.pool.size remote.log.manager.task.interval.ms
        remote.log.manager.task.retry.jitter remote.log.manager.thread.pool.size
        remote.log.metadata.custom.metadata.max.bytes remote.log.metadata.manager.impl.prefix
        remote.log.metadata.manager.listener.name remote.log.reader.max.pending.tasks
        remote.log.storage.manager.impl.prefix replica.high.watermark.checkpoint.interval.ms
        replica.socket.receive.buffer.bytes replication.quota.window.num replication.quota.window.size.seconds
        server.max.startup.time.ms share.coordinator.append.linger.ms share.coordinator.cached.buffer.max.bytes
        share.coordinator.cold.partition.snapshot.interval.ms share.coordinator.load.buffer.size
        share.coordinator.snapshot.update.records.per.snapshot share.coordinator.state.topic.compression.codec
        share.coordinator.state.topic.prune.interval.ms share.coordinator.threads share.coordinator.write.timeout.ms
        share.fetch.purgatory.purge.interval.requests socket.connection.setup.timeout.max.ms
        socket.connection.setup.timeout.ms socket.receive.buffer.bytes telemetry.max.bytes
        transaction.state.log.load.buffer.size unstable.api.versions.enable unstable.feature.versions.enable
        """
    )
    # groups, and subscriptions to client metrics
    + _names(
        """
        interval.ms match metrics share.assignment.interval.ms share.auto.offset.reset share.delivery.count.limit
        share.heartbeat.interval.ms share.isolation.level share.partition.max.record.locks
        share.record.lock.duration.ms share.renew.acknowledge.enable share.session.timeout.ms
        streams.assignment.interval.ms streams.heartbeat.interval.ms streams.initial.rebalance.delay.ms
        streams.num.standby.replicas streams.session.timeout.ms
        """
    )
)

_REFUSED: Final[tuple[tuple[str, str], ...]] = (
    (
        "SSL is not available yet, only PLAINTEXT is",
        """
        ssl.allow.dn.changes ssl.allow.san.changes ssl.cipher.suites ssl.client.auth ssl.enabled.protocols
        ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm
        ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
        ssl.principal.mapping.rules ssl.protocol ssl.provider ssl.secure.random.implementation
        ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
        ssl.truststore.type
        """,
    ),
    (
        "SASL is not available yet, only PLAINTEXT is",
        """
        connection.failed.authentication.delay.ms connections.max.reauth.ms sasl.client.callback.handler.class
        sasl.enabled.mechanisms sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
        sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
        sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class sasl.login.class
        sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
        sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
        sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
        sasl.mechanism.inter.broker.protocol sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
        sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
        sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
        sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
        sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
        sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
        sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds
        sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
        sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
        sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
        sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class sasl.server.max.receive.size
        """,
    ),
    ("only PLAINTEXT is available yet", "security.inter.broker.protocol"),
    ("ACLs are not available yet, every client may do everything", "authorizer.class.name"),
    (
        "delegation tokens are not available",
        """
        delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.max.lifetime.ms
        delegation.token.secret.key
        """,
    ),
    ("client quotas are not available yet", "client.quota.callback.class"),
    (
        "this limit is not available; max.connections and max.connections.per.ip are",
        "max.connection.creation.rate max.connections.per.ip.overrides",
    ),
    (
        "Java classes cannot be loaded here, so nothing would check requests by this policy",
        "alter.config.policy.class.name create.topic.policy.class.name",
    ),
    (
        "Java classes cannot be loaded here",
        """
        config.providers group.share.persister.class.name kafka.metrics.reporters metric.reporters
        principal.builder.class security.providers
        """,
    ),
    (
        "Java classes cannot be loaded here; tiered storage is built in, tapelog.tier.url says where it is",
        """
        remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
        remote.log.storage.manager.class.name remote.log.storage.manager.class.path
        """,
    ),
)

REFUSED: Final[dict[str, str]] = {name: reason for reason, names in _REFUSED for name in names.split()}
"""Name → why it is refused, to be read after the name and a colon."""

AT_START: Final[frozenset[str]] = frozenset(("remote.log.manager.copier.thread.pool.size", "remote.log.reader.threads"))
"""Kafka's brokers take a change of these while they run; here they are read when a node starts."""

WRITTEN_MIN_ISR: Final = "tapelog.min.insync.replicas.written"
"""Stored for all brokers: min.insync.replicas as the controller wrote it. An operator's change removes it."""

LISTENERS: Final = "listeners"
PROTOCOL_MAP: Final = "listener.security.protocol.map"

NOT_DYNAMIC: Final[frozenset[str]] = frozenset((*REFUSED, *AT_START, LISTENERS, PROTOCOL_MAP))
"""What a configuration change cannot bring into force. Older versions kept such changes: they are passed over."""
