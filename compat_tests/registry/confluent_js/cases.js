// What Confluent's client for Node does with the broker's schema registry. Usage: node cases.js URL [CASE...]; without names, all cases run.

import assert from "node:assert/strict";
import confluent from "@confluentinc/schemaregistry";
import { run } from "./run.js";

const { SchemaRegistryClient, AvroSerializer, AvroDeserializer, JsonSerializer, JsonDeserializer, SerdeType } = confluent;

const [host, ...wanted] = process.argv.slice(2);
const client = SchemaRegistryClient.newClient({ baseURLs: [host] });

const USER = { type: "record", name: "User", namespace: "js", fields: [{ name: "name", type: "string" }] };
const OLDER = { ...USER, fields: [...USER.fields, { name: "age", type: "int" }] };

const cases = {
  async subjects() {
    const schema = { schema: JSON.stringify(USER), schemaType: "AVRO" };
    const id = await client.register("cjs", schema);
    assert.equal((await client.getBySubjectAndId("cjs", id)).schema, schema.schema);
    assert.equal(await client.getId("cjs", schema), id);
    assert.equal((await client.getLatestSchemaMetadata("cjs")).version, 1);
    assert.deepEqual(await client.getAllVersions("cjs"), [1]);
    assert.equal(await client.testCompatibility("cjs", 1, { schema: JSON.stringify(OLDER), schemaType: "AVRO" }), false);
    assert.equal(await client.updateCompatibility("cjs", "NONE"), "NONE");
    assert.equal(await client.getCompatibility("cjs"), "NONE");
    assert.equal(await client.getVersion("cjs", schema), 1);
    assert.deepEqual(await client.deleteSubject("cjs"), [1]);
    assert.deepEqual(await client.deleteSubject("cjs", true), [1]);
  },
  async avro() {
    await client.register("cjs-avro-value", { schema: JSON.stringify(USER), schemaType: "AVRO" });
    const serializer = new AvroSerializer(client, SerdeType.VALUE, { useLatestVersion: true });
    const bytes = await serializer.serialize("cjs-avro", { name: "Ada" });
    const found = await new AvroDeserializer(client, SerdeType.VALUE, {}).deserialize("cjs-avro", bytes);
    assert.equal(found.name, "Ada");
  },
  async json() {
    const schema = JSON.stringify({ type: "object", properties: { name: { type: "string" } } });
    await client.register("cjs-json-value", { schema, schemaType: "JSON" });
    const serializer = new JsonSerializer(client, SerdeType.VALUE, { useLatestVersion: true });
    const bytes = await serializer.serialize("cjs-json", { name: "Ada" });
    const found = await new JsonDeserializer(client, SerdeType.VALUE, {}).deserialize("cjs-json", bytes);
    assert.equal(found.name, "Ada");
  },
};

await run(cases, wanted);
