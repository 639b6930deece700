// KafkaJS against a broker: node checks.js BOOTSTRAP CHECK. Exit 0 when the check holds; otherwise the reason on stderr.
"use strict";

const assert = require("node:assert");
const crypto = require("node:crypto");
const { Kafka, logLevel, CompressionTypes, CompressionCodecs, AssignerProtocol, ConfigResourceTypes } = require("kafkajs");
const lz4 = require("lz4-napi");
const zstd = require("@bokuweb/zstd-wasm");

CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: async (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});

const fresh = (stem) => `node-${stem}-${crypto.randomBytes(4).toString("hex")}`;

async function until(condition, what, seconds = 120) {
  const deadline = Date.now() + seconds * 1000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function makeTopic(admin, stem, numPartitions = 1, configEntries = []) {
  const topic = fresh(stem);
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, replicationFactor: 1, configEntries }] });
  return topic;
}

// Reads `count` records of a topic from its beginning, in a group of its own.
async function read(kafka, topic, count, options = {}) {
  const consumer = kafka.consumer({ groupId: fresh("read"), maxWaitTimeInMs: 100, ...options });
  const got = [];
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({ eachMessage: async ({ partition, message }) => void got.push({ partition, ...message }) });
  try {
    await until(() => got.length >= count, `${count} records (got ${got.length})`);
  } finally {
    await consumer.disconnect();
  }
  assert.equal(got.length, count);
  return got;
}

const checks = {
  async codecs(kafka, admin) {
    await zstd.init();
    const producer = kafka.producer();
    await producer.connect();
    for (const [name, compression] of Object.entries(CompressionTypes)) {
      const topic = await makeTopic(admin, `codec-${name}`);
      const now = Date.now();
      const messages = [...Array(100).keys()].map((number) => ({
        key: number % 3 ? `key-${number}` : null,
        value: number % 7 ? `value ${number} `.repeat(10) : null,
        headers: number % 2 ? { trace: `${number}`, many: ["a", "b"] } : undefined,
        timestamp: `${now + number}`,
        partition: 0,
      }));
      const [report] = await producer.send({ topic, compression, messages });
      assert.deepEqual([report.errorCode, report.baseOffset], [0, "0"]);
      const got = await read(kafka, topic, 100);
      got.forEach((message, number) => {
        assert.equal(message.offset, `${number}`);
        assert.equal(message.key?.toString() ?? null, messages[number].key);
        assert.equal(message.value?.toString() ?? null, messages[number].value);
        assert.equal(message.timestamp, messages[number].timestamp);
        assert.equal(message.headers?.trace?.toString(), messages[number].headers?.trace);
        assert.deepEqual(message.headers?.many?.map(String), messages[number].headers?.many);
      });
    }
    await producer.disconnect();
  },

  async large(kafka, admin) {
    const topic = await makeTopic(admin, "large", 1, [{ name: "max.message.bytes", value: "11000000" }]);
    const small = await makeTopic(admin, "small", 1, [{ name: "max.message.bytes", value: "100000" }]);
    const value = crypto.randomBytes(10 * 1024 * 1024);
    const producer = kafka.producer();
    await producer.connect();
    await producer.send({ topic, messages: [{ value }] });
    const [message] = await read(kafka, topic, 1, { maxBytesPerPartition: 1048576 });
    assert.ok(message.value.equals(value));
    await assert.rejects(producer.send({ topic: small, messages: [{ value: value.subarray(0, 200000) }] }), {
      type: "MESSAGE_TOO_LARGE",
    });
    await producer.disconnect();
  },

  async idempotent(kafka, admin) {
    const topic = await makeTopic(admin, "idempotent");
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    for (let round = 0; round < 50; round++) {
      const messages = [...Array(20).keys()].map((number) => ({ value: `${round * 20 + number}`, partition: 0 }));
      await producer.send({ topic, messages });
    }
    await producer.disconnect();
    const got = await read(kafka, topic, 1000);
    assert.deepEqual(got.map((message) => Number(message.value)), [...Array(1000).keys()]);
  },

  async transactions(kafka, admin) {
    const [topic, source] = [await makeTopic(admin, "txn"), await makeTopic(admin, "source")];
    const [transactionalId, groupId] = [fresh("txn"), fresh("txn")];
    const settings = { transactionalId, maxInFlightRequests: 1, idempotent: true };
    const producer = kafka.producer(settings);
    await producer.connect();
    const wanted = [];
    for (let number = 0; number < 20; number++) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ value: `${number}` }, { value: `${number} again` }] });
      const partitions = [{ partition: 0, offset: `${number}` }];
      await transaction.sendOffsets({ consumerGroupId: groupId, topics: [{ topic: source, partitions }] });
      if (number % 3 === 1) {
        await transaction.abort();
      } else {
        await transaction.commit();
        wanted.push(`${number}`, `${number} again`);
      }
    }
    const got = await read(kafka, topic, wanted.length);
    assert.deepEqual(got.map((message) => message.value.toString()), wanted);
    assert.equal((await read(kafka, topic, 40, { readUncommitted: true })).length, 40);
    const committed = async () => (await admin.fetchOffsets({ groupId, topics: [source] }))[0].partitions[0].offset;
    await until(async () => (await committed()) === "18", "the offset of the last committed transaction");
    const open = await producer.transaction();
    await open.send({ topic, messages: [{ value: "zombie" }] });
    const heir = kafka.producer(settings);
    await heir.connect();
    const transaction = await heir.transaction();
    await transaction.send({ topic, messages: [{ value: "heir" }] });
    await transaction.commit();
    await assert.rejects(open.commit());
    const last = (await read(kafka, topic, wanted.length + 1)).at(-1);
    assert.equal(last.value.toString(), "heir");
    await Promise.all([producer, heir].map((one) => one.disconnect()));
  },

  async groups(kafka, admin) {
    const topic = await makeTopic(admin, "group", 6);
    const groupId = fresh("group");
    const seen = new Set();
    const member = async () => {
      const times = { sessionTimeout: 30000, heartbeatInterval: 200, rebalanceTimeout: 30000, maxWaitTimeInMs: 100 };
      const consumer = kafka.consumer({ groupId, ...times });
      const state = { consumer, owned: [] };
      consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => (state.owned = payload.memberAssignment[topic] ?? []));
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ eachMessage: async ({ partition, message }) => void seen.add(`${partition}/${message.offset}`) });
      return state;
    };
    const shares = (members) => {
      const all = members.flatMap((one) => one.owned);
      return new Set(all).size === 6 && all.length === 6 ? members.map((one) => one.owned.length).join() : "";
    };
    const first = await member();
    await until(() => shares([first]) === "6", "one member owns all");
    const second = await member();
    const third = await member();
    await until(() => shares([first, second, third]) === "2,2,2", "three share");
    const producer = kafka.producer();
    await producer.connect();
    const messages = [...Array(300).keys()].map((number) => ({ value: `${number}`, partition: number % 6 }));
    await producer.send({ topic, messages });
    await first.consumer.disconnect();
    await until(() => shares([second, third]) === "3,3", "two share");
    await until(() => seen.size === 300, "every record");
    const described = await admin.describeGroups([groupId]);
    assert.equal(described.groups[0].state, "Stable");
    assert.equal(described.groups[0].members.length, 2);
    for (const { memberAssignment } of described.groups[0].members) {
      assert.equal(AssignerProtocol.MemberAssignment.decode(memberAssignment).assignment[topic].length, 3);
    }
    await Promise.all([second, third].map((one) => one.consumer.disconnect()));
    await producer.disconnect();
    const [offsets] = await admin.fetchOffsets({ groupId, topics: [topic] });
    assert.deepEqual(offsets.partitions.map((one) => one.offset), Array(6).fill("50"));
    await admin.resetOffsets({ groupId, topic, earliest: true });
    await admin.deleteGroups([groupId]);
  },

  async admin(kafka, admin) {
    const topic = await makeTopic(admin, "admin", 2, [{ name: "retention.ms", value: "1000000" }]);
    assert.equal(await admin.createTopics({ topics: [{ topic }] }), false); // there already
    await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] });
    await until(async () => (await partitionsOf(admin, topic)) === 4, "four partitions");
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
    const described = await admin.describeConfigs({ includeSynonyms: true, resources: [resource] });
    const retention = described.resources[0].configEntries.find((one) => one.configName === "retention.ms");
    assert.equal(retention.configValue, "1000000");
    const configEntries = [{ name: "retention.ms", value: "2000000" }];
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
    const producer = kafka.producer();
    await producer.connect();
    const now = Date.now();
    const messages = [...Array(10).keys()].map((n) => ({ value: `${n}`, partition: 0, timestamp: `${now - 10000 + n * 1000}` }));
    await producer.send({ topic, messages });
    await producer.disconnect();
    const at = async (offsets) => (await offsets).find((one) => one.partition === 0).offset;
    assert.equal(await at(admin.fetchTopicOffsets(topic)), "10");
    assert.equal(await at(admin.fetchTopicOffsetsByTimestamp(topic, now - 5500)), "5");
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "6" }] });
    const low = (await admin.fetchTopicOffsets(topic)).find((one) => one.partition === 0).low;
    assert.equal(low, "6");
    const groupId = fresh("admin");
    await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: "8" }] });
    const listed = await admin.listGroups();
    assert.ok(listed.groups.some((one) => one.groupId === groupId));
    await admin.deleteGroups([groupId]);
    const cluster = await admin.describeCluster();
    assert.equal(cluster.brokers.length, 1);
    await admin.deleteTopics({ topics: [topic] });
    await until(async () => !(await admin.listTopics()).includes(topic), "the topic is gone");
  },
};

const partitionsOf = async (admin, topic) =>
  (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length;

async function main([bootstrap, check]) {
  const kafka = new Kafka({ clientId: "node-checks", brokers: [bootstrap], logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  await checks[check](kafka, admin);
  await admin.disconnect();
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
