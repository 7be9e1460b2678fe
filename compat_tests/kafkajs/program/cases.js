// What kafkajs does with the broker. Usage: node cases.js BOOTSTRAP [CASE...]; without names, all cases run.
// Each case answers on one line, "CASE name PASS" or "CASE name FAIL"; after a failure, lines with "| " say why.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import kafkajs from 'kafkajs'

import { run } from './run.js'

const { CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = kafkajs

const [bootstrap, ...wanted] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING })
const LIMIT_MS = 60_000

const unique = what => `js-${what}-${randomUUID()}`

/** Connects a client, hands it to the body, and disconnects it in any case. */
async function using(client, body) {
  await client.connect()
  try {
    return await body(client)
  } finally {
    await client.disconnect()
  }
}

/** The promise, or an error after twenty seconds. */
function soon(promise, what) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come`)), LIMIT_MS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Repeats the check until it holds: brokers may answer a change before every reader sees it. */
async function until(check) {
  const deadline = Date.now() + LIMIT_MS
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error('the expected state did not come')
    await new Promise(resolve => setTimeout(resolve, 30))
  }
}

async function newTopic(numPartitions = 1, configEntries = []) {
  const topic = unique('topic')
  await using(kafka.admin(), admin => admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, configEntries }] }))
  return topic
}

/** What the call gives, once every partition that was just made has its leader. */
async function whenLed(call) {
  let result
  await until(async () => {
    try {
      result = await call()
      return true
    } catch (error) {
      if (error.type !== 'NOT_LEADER_FOR_PARTITION') throw error
      return false
    }
  })
  return result
}

function values(count) {
  return Array.from({ length: count }, (_, i) => ({ key: `key${i % 10}`, value: `value${i}` }))
}

async function fill(topic, count, options = {}, settings = {}) {
  return using(kafka.producer(settings), producer => producer.send({ topic, messages: values(count), ...options }))
}

/** Reads count records as a member of the group, commits after each, and leaves. */
async function read(topic, groupId, count) {
  const seen = []
  const consumer = kafka.consumer({ groupId, heartbeatInterval: 100, maxWaitTimeInMs: 100 })
  await using(consumer, async () => {
    await consumer.subscribe({ topic, fromBeginning: true })
    await soon(
      new Promise((resolve, reject) => {
        consumer.on(consumer.events.CRASH, event => reject(event.payload.error))
        const eachMessage = async ({ partition, message }) => {
          if (seen.length === count) return
          seen.push({ partition, ...message })
          await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }])
          if (seen.length === count) resolve()
        }
        consumer.run({ autoCommit: false, eachMessage }).catch(reject)
      }),
      `${count} records of ${topic}`,
    )
  })
  return seen
}

async function roundTrip(options, settings) {
  const topic = await newTopic()
  await fill(topic, 100, options, settings)
  const seen = await read(topic, unique('group'), 100)
  assert.deepEqual(seen.map(message => message.value.toString()), values(100).map(message => message.value))
}

const cases = {
  codecNone: () => roundTrip({ compression: CompressionTypes.None }),
  codecGzip: () => roundTrip({ compression: CompressionTypes.GZIP }),
  acksNone: () => roundTrip({ acks: 0 }),
  acksLeader: () => roundTrip({ acks: 1 }),
  idempotent: () => roundTrip({ acks: -1 }, { idempotent: true, maxInFlightRequests: 1 }),

  async headersTimestampAndNulls() {
    const topic = await newTopic()
    const message = { key: 'k', value: null, headers: { trace: Buffer.from([0, 255]) }, timestamp: '1600000000123' }
    await using(kafka.producer(), producer => producer.send({ topic, messages: [message] }))
    const [found] = await read(topic, unique('group'), 1)
    assert.equal(found.key.toString(), 'k')
    assert.equal(found.value, null)
    assert.deepEqual(found.headers.trace, Buffer.from([0, 255]))
    assert.equal(found.timestamp, '1600000000123')
  },

  async tooLarge() {
    const topic = await newTopic(1, [{ name: 'max.message.bytes', value: '1000' }])
    const messages = [{ value: 'x'.repeat(5000) }]
    const sent = using(kafka.producer({ retry: { retries: 0 } }), producer => producer.send({ topic, messages }))
    await assert.rejects(sent, { type: 'MESSAGE_TOO_LARGE' })
  },

  async createsTopicsByProducing() {
    const [{ baseOffset }] = await fill(unique('auto'), 1)
    assert.equal(baseOffset, '0')
  },

  async groupCommitsAndResumes() {
    const topic = await newTopic(3)
    const groupId = unique('group')
    await fill(topic, 30)
    const seen = [...(await read(topic, groupId, 12)), ...(await read(topic, groupId, 18))]
    assert.equal(new Set(seen.map(message => `${message.partition}/${message.offset}`)).size, 30)
  },

  async groupSharesPartitions() {
    const topic = await newTopic(4)
    const groupId = unique('group')
    const held = [0, 0]
    const consumers = held.map((_, i) => {
      const consumer = kafka.consumer({ groupId, heartbeatInterval: 100, rebalanceTimeout: 5000, maxWaitTimeInMs: 100 })
      consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
        held[i] = (payload.memberAssignment[topic] ?? []).length
      })
      return consumer
    })
    try {
      for (const consumer of consumers) {
        await consumer.connect()
        await consumer.subscribe({ topic })
        await consumer.run({ eachMessage: async () => {} })
      }
      await until(() => held[0] === 2 && held[1] === 2)
    } finally {
      for (const consumer of consumers) await consumer.disconnect()
    }
  },

  async adminOfTopics() {
    const topic = await newTopic()
    await fill(topic, 10)
    await using(kafka.admin(), async admin => {
      assert.equal(await admin.createTopics({ topics: [{ topic }] }), false)
      await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
      await until(async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length === 3)
      const first = await whenLed(async () => {
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '4' }] })
        return (await admin.fetchTopicOffsets(topic)).find(each => each.partition === 0)
      })
      assert.deepEqual(first, { partition: 0, offset: '10', high: '10', low: '4' })
      const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
      await admin.alterConfigs({ resources: [{ ...resource, configEntries: [{ name: 'retention.ms', value: '60000' }] }] })
      await until(async () => {
        const described = await admin.describeConfigs({ resources: [{ ...resource, configNames: ['retention.ms'] }] })
        return described.resources[0].configEntries[0].configValue === '60000'
      })
      await admin.deleteTopics({ topics: [topic] })
      await until(async () => !(await admin.listTopics()).includes(topic))
    })
  },

  async adminOfGroups() {
    const topic = await newTopic()
    const groupId = unique('group')
    await fill(topic, 5)
    await read(topic, groupId, 5)
    await using(kafka.admin(), async admin => {
      const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
      assert.equal(partitions[0].offset, '5')
      assert.equal((await admin.describeGroups([groupId])).groups[0].state, 'Empty')
      assert.ok((await admin.listGroups()).groups.some(group => group.groupId === groupId))
      await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '2' }] })
      await admin.deleteGroups([groupId])
    })
    assert.equal((await read(topic, groupId, 5))[0].offset, '0')
  },

  async offsetsByTime() {
    const topic = await newTopic()
    const messages = Array.from({ length: 10 }, (_, i) => ({ value: 'v', timestamp: String(1_700_000_000_000 + 1000 * i) }))
    await using(kafka.producer(), producer => producer.send({ topic, messages }))
    await using(kafka.admin(), async admin => {
      assert.equal((await admin.fetchTopicOffsetsByTimestamp(topic, 1_700_000_003_500))[0].offset, '4')
    })
  },

  async cluster() {
    const cluster = await using(kafka.admin(), admin => admin.describeCluster())
    assert.equal(cluster.controller, cluster.brokers[0].nodeId)
    assert.equal(`${cluster.brokers[0].host}:${cluster.brokers[0].port}`, bootstrap)
  },
}

await run(cases, wanted)
