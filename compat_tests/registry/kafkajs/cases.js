// What kafkajs's client of schema registries does with the broker's. Usage: node cases.js URL [CASE...]; without names, all cases run.

import assert from "node:assert/strict";
import kafkajs from "@kafkajs/confluent-schema-registry";
import { run } from "./run.js";

const { SchemaRegistry, SchemaType, COMPATIBILITY } = kafkajs;

const [host, ...wanted] = process.argv.slice(2);
const registry = new SchemaRegistry({ host });

const USER = { type: "record", name: "User", namespace: "js", fields: [{ name: "name", type: "string" }] };
const OLDER = { ...USER, fields: [...USER.fields, { name: "age", type: "int" }] };

const cases = {
  async avro() {
    const subject = "js-avro-value";
    const { id } = await registry.register({ type: SchemaType.AVRO, schema: JSON.stringify(USER) }, { subject });
    assert.equal((await registry.decode(await registry.encode(id, { name: "Ada" }))).name, "Ada");
    assert.equal(await registry.getLatestSchemaId(subject), id);
    assert.equal(await registry.getRegistryId(subject, 1), id);
    await assert.rejects(registry.register({ type: SchemaType.AVRO, schema: JSON.stringify(OLDER) }, { subject }));
  },
  async compatibility() {
    const subject = "js-compatibility";
    const options = { subject, compatibility: COMPATIBILITY.NONE };
    await registry.register({ type: SchemaType.AVRO, schema: JSON.stringify(USER) }, options);
    await assert.rejects(registry.register({ type: SchemaType.AVRO, schema: JSON.stringify(OLDER) }, { ...options, compatibility: COMPATIBILITY.FULL }));
  },
  async json() {
    const schema = JSON.stringify({ type: "object", properties: { name: { type: "string" } } });
    const { id } = await registry.register({ type: SchemaType.JSON, schema }, { subject: "js-json-value" });
    assert.deepEqual(await registry.decode(await registry.encode(id, { name: "Ada" })), { name: "Ada" });
  },
  async protobuf() {
    const schema = 'syntax = "proto3"; package js; message User { string name = 1; }';
    const { id } = await registry.register({ type: SchemaType.PROTOBUF, schema }, { subject: "js-protobuf-value" });
    const decoded = await registry.decode(await registry.encode(id, { name: "Ada" }));
    assert.equal(decoded.name, "Ada");
  },
  async references() {
    const point = JSON.stringify({ type: "record", name: "Point", namespace: "js", fields: [{ name: "x", type: "int" }] });
    await registry.register({ type: SchemaType.AVRO, schema: point }, { subject: "js-point" });
    const line = JSON.stringify({ type: "record", name: "Line", namespace: "js", fields: [{ name: "at", type: "js.Point" }] });
    const references = [{ name: "js.Point", subject: "js-point", version: 1 }];
    const { id } = await registry.register({ type: SchemaType.AVRO, schema: line, references }, { subject: "js-line" });
    const decoded = await registry.decode(await registry.encode(id, { at: { x: 7 } }));
    assert.equal(decoded.at.x, 7);
  },
};

await run(cases, wanted);
