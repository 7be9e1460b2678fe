// kafkajs with the listeners of compat_tests/security. Usage: node secured.js BOOTSTRAP [CASE...], as cases.js; the environment says
// where they are.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import kafkajs from 'kafkajs'

import { run } from './run.js'

const { Kafka, logLevel } = kafkajs
const { SECURED_LISTENERS, SECURED_AUTHORITY, SECURED_CERTIFICATE, SECURED_TOKEN, SECURED_SCRAM } = process.env
const [, ...wanted] = process.argv.slice(2)
const ca = [readFileSync(SECURED_AUTHORITY)]
const own = readFileSync(SECURED_CERTIFICATE)
const [scramUser, scramPassword] = SECURED_SCRAM.split(':')

const at = (listener, settings) => new Kafka({ brokers: [JSON.parse(SECURED_LISTENERS)[listener]], logLevel: logLevel.NOTHING, ...settings })

async function thereAndBack(kafka) {
  const topic = `js-${randomUUID()}`
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic, messages: [{ value: 'safe' }] })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: topic })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const value = await new Promise(resolve => consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) }))
  await consumer.disconnect()
  assert.equal(value, 'safe')
}

const password = (mechanism, username, password) => ({ sasl: { mechanism, username, password } })
const plain = password('plain', 'alice', 'alice-secret')

const cases = {
  tls: () => thereAndBack(at('SSL', { ssl: { ca } })),
  certificates: () => thereAndBack(at('MUTUAL', { ssl: { ca, cert: own, key: own } })),
  password: () => thereAndBack(at('SASL_PLAINTEXT', plain)),
  passwordOverTls: () => thereAndBack(at('SASL_SSL', { ssl: { ca }, ...plain })),
  scram256: () => thereAndBack(at('SASL_SSL', { ssl: { ca }, ...password('scram-sha-256', scramUser, scramPassword) })),
  scram512: () => thereAndBack(at('SASL_SSL', { ssl: { ca }, ...password('scram-sha-512', scramUser, scramPassword) })),
  token: () =>
    thereAndBack(at('TOKENS', { sasl: { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: SECURED_TOKEN }) } })),

  async wrongPassword() {
    const kafka = at('SASL_SSL', { ssl: { ca }, ...password('plain', 'alice', 'wrong'), retry: { retries: 0 } })
    await assert.rejects(kafka.producer().connect(), /Invalid username or password/)
  },
}

await run(cases, wanted)
