// node --test, with kafkajs installed and pykbroker on the PATH. For Vitest, import `test` and the rest from "vitest" (before and after
// are beforeAll and afterAll there).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { Kafka, logLevel } from "kafkajs";

// The code under test.
async function placeOrder(kafka, order) {
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: "orders", messages: [{ key: order.customer, value: JSON.stringify(order) }] });
  await producer.disconnect();
}

const COMMAND = ["serve", "--ephemeral", "--listen", "127.0.0.1:0", "--json", "--exit-with-parent"];
let broker, kafka;

before(async () => {
  broker = spawn("pykbroker", COMMAND, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: broker.stdout })) {
    kafka = new Kafka({ brokers: JSON.parse(line).bootstrap.split(","), logLevel: logLevel.ERROR });
    return;
  }
  throw new Error("the broker ended; its last words are above");
});

after(async () => {
  broker.kill(); // it stops cleanly, and its folder is removed
  await once(broker, "exit");
});

test("an order is placed", async () => {
  await placeOrder(kafka, { customer: "customer-7", item: "book" });

  const consumer = kafka.consumer({ groupId: "test" });
  await consumer.connect();
  await consumer.subscribe({ topic: "orders", fromBeginning: true });
  const message = await new Promise((resolve) => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message) });
  });
  await consumer.disconnect();

  assert.equal(message.key.toString(), "customer-7");
  assert.deepEqual(JSON.parse(message.value), { customer: "customer-7", item: "book" });
});
