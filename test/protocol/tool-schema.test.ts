import { describe, expect, it } from "vitest";
import { isNestedDeeper } from "../../shared/protocol/schemas.ts";
import { maxSchemaBytes, maxSchemaLevels, schemaFault } from "../../shared/protocol/tool-schema.ts";

/** A schema of nested lists: two levels of nesting each. */
function nested(lists: number): Record<string, unknown> {
  let schema: Record<string, unknown> = { type: "string" };
  for (let n = 0; n < lists; n++) schema = { type: "array", items: schema };
  return schema;
}

const withArgument = (schema: unknown) => ({ type: "object", properties: { x: schema } });

describe("a tool's input schema is accepted", () => {
  it.each([
    [{ type: "object" }],
    [{ type: "object", properties: {}, required: [], additionalProperties: false }],
    [withArgument({ type: ["string", "null"], enum: ["a", null], description: "type: any" })],
    [withArgument({ oneOf: [{ type: "string" }, { type: "integer", minimum: 1 }] })],
    [withArgument({ type: "array", items: { type: "number" }, maxItems: 3 })],
    [withArgument(true)],
    [{ ...withArgument({ $ref: "#/$defs/one" }), $defs: { one: { type: "string" } } }],
    [{ type: "object", properties: { type: { type: "string" }, enum: { type: "string" }, "a.b-c_1": {} } }],
    [
      JSON.parse(
        '{"type":"object","properties":{"constructor":{"type":"string"},"__proto__":{"type":"string"}}}',
      ),
    ],
    [withArgument(nested(maxSchemaLevels - 3))],
  ])("%j", (schema) => {
    expect(schemaFault(schema)).toBeUndefined();
  });
});

describe("a tool's input schema is refused when every model call or the node's item would fail", () => {
  it.each([
    [{}, 'expected "type": "object" at the top'],
    [{ type: "string" }, 'expected "type": "object" at the top'],
    [{ type: ["object"] }, 'expected "type": "object" at the top'],
    [{ type: "object", anyOf: [{ required: ["a"] }] }, "anyOf at the top; model providers reject it there"],
    [{ type: "object", oneOf: [] }, "oneOf at the top; model providers reject it there"],
    [{ type: "object", allOf: [] }, "allOf at the top; model providers reject it there"],
    [{ type: "object", enum: [] }, "enum at the top; model providers reject it there"],
    [{ type: "object", not: {} }, "not at the top; model providers reject it there"],
    [
      { type: "object", properties: { "a b": {} } },
      'properties: the name "a b"; expected letters, digits, _, . and -, at most 64',
    ],
    [{ type: "object", properties: [] }, "properties: expected an object"],
    [{ type: "object", properties: "x" }, "properties: expected an object"],
    [{ type: "object", required: "a" }, "required: expected a list of names"],
    [{ type: "object", required: [1] }, "required: expected a list of names"],
    [withArgument("string"), "properties.x: expected a schema"],
    [withArgument(null), "properties.x: expected a schema"],
    [
      withArgument({ type: "text" }),
      "properties.x: type: expected array, boolean, integer, null, number, object, string, or a list of them",
    ],
    [withArgument({ enum: "a" }), "properties.x: enum: expected a list"],
    [withArgument({ required: true }), "properties.x: required: expected a list of names"],
    [withArgument({ anyOf: {} }), "properties.x: anyOf: expected a list"],
    [withArgument({ items: [{ type: "string" }] }), "properties.x: items: expected a schema"],
    [
      withArgument({ $ref: "https://example.com/schema.json" }),
      "properties.x: $ref: expected a place in the same schema, #/…",
    ],
    [withArgument(nested(maxSchemaLevels - 2)), `nested deeper than ${maxSchemaLevels} levels`],
    [{ type: "object", title: "x".repeat(maxSchemaBytes) }, `larger than ${maxSchemaBytes} bytes`],
  ])("%#: %j", (schema, fault) => {
    expect(schemaFault(schema)).toBe(fault);
  });
});

it("a tool's input schema is refused at any depth without running out of stack", () => {
  expect(schemaFault(withArgument(nested(50_000)))).toBe(`nested deeper than ${maxSchemaLevels} levels`);
});

describe("nesting", () => {
  it("is counted in levels of lists and objects", () => {
    for (const [value, levels] of [
      ["text", 0],
      [null, 0],
      [{}, 1],
      [[], 1],
      [{ a: 1, b: [{}] }, 3],
      [[[], { a: { b: {} } }], 4],
    ] as const) {
      expect(isNestedDeeper(value, levels)).toBe(false);
      expect(isNestedDeeper(value, levels - 1)).toBe(levels > 0);
    }
  });

  it("is found at any depth without running out of stack", () => {
    expect(isNestedDeeper(JSON.parse("[".repeat(200_000) + "]".repeat(200_000)), 100_000)).toBe(true);
  });
});
