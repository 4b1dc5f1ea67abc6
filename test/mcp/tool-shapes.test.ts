import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../shared/mcp/result-content.ts";
import { offerSchema, unwrapArguments } from "../../shared/mcp/tool-arguments.ts";
import { mcpToolName } from "../../shared/mcp/tool-name.ts";
import { schemaFault } from "../../shared/protocol/tool-schema.ts";

describe("names of MCP tools", () => {
  it("keeps a name that providers accept", () => {
    expect(mcpToolName("notion", "search")).toBe("notion__search");
    expect(mcpToolName("notion", "get-page_2")).toBe("notion__get-page_2");
  });

  it("changes a name that providers refuse, and keeps different tools apart", () => {
    const names = ["a.b", "a/b", "a_b", "ä", "ö", `${"x".repeat(99)}1`, `${"x".repeat(99)}2`];
    const offered = names.map((name) => mcpToolName("notion", name));
    expect(new Set(offered).size).toBe(names.length);
    for (const name of offered) expect(name).toMatch(/^notion__[A-Za-z0-9_-]{1,56}$/);
    expect(mcpToolName("notion", "a.b")).toBe(mcpToolName("notion", "a.b"));
  });

  it("leaves room for a node's name", () => {
    expect(mcpToolName("notion", "x".repeat(60), 40)).toHaveLength(40);
  });
});

describe("arguments of MCP tools", () => {
  const plain = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };

  it("offers a schema that providers accept as it is", () => {
    expect(offerSchema(plain)).toEqual({ schema: plain, isWrapped: false });
    expect(offerSchema({ $schema: "http://json-schema.org/draft-07/schema#", properties: {} })).toEqual({
      schema: { type: "object", properties: {} },
      isWrapped: false,
    });
  });

  it.each(["anyOf", "oneOf", "allOf"])(
    "wraps %s at the top, with references that still lead there",
    (word) => {
      const given = {
        type: "object",
        [word]: [{ $ref: "#/$defs/byId" }, { properties: { self: { $ref: "#" } } }],
        $defs: { byId: plain },
      };
      const { schema, isWrapped } = offerSchema(given);
      expect(isWrapped).toBe(true);
      expect(schemaFault(schema)).toBeUndefined();
      expect(schema).toMatchObject({
        properties: {
          input: {
            [word]: [
              { $ref: "#/properties/input/$defs/byId" },
              { properties: { self: { $ref: "#/properties/input" } } },
            ],
          },
        },
        required: ["input"],
      });
      expect(unwrapArguments(true, { input: { q: "x" } })).toEqual({ q: "x" });
      expect(unwrapArguments(true, { q: "x" })).toEqual({ q: "x" });
    },
  );

  it("wraps an argument's name that providers refuse", () => {
    const { schema, isWrapped } = offerSchema({ type: "object", properties: { "a b": { type: "string" } } });
    expect(isWrapped).toBe(true);
    expect(schemaFault(schema)).toBeUndefined();
  });

  it("keeps an argument of its own that is called input", () => {
    const { isWrapped } = offerSchema({ type: "object", properties: { input: { type: "object" } } });
    expect(unwrapArguments(isWrapped, { input: { q: "x" } })).toEqual({ input: { q: "x" } });
  });

  it("accepts any object where no form of the schema is accepted", () => {
    let deep: unknown = { type: "string" };
    for (let level = 0; level < 30; level++) deep = { type: "object", properties: { deep } };
    for (const given of [{ $ref: "https://x.example/s" }, deep, null, "text", { properties: 3 }]) {
      const { schema } = offerSchema(given);
      expect(schemaFault(schema)).toBeUndefined();
    }
  });
});

describe("results of MCP tools", () => {
  const content = (given: unknown) => (outcomeOf(given) as { result: { content: unknown[] } }).result.content;

  it("keeps text and images, and notes what the model cannot read", () => {
    const given = {
      content: [
        { type: "text", text: "found" },
        { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
        { type: "image", data: "AAAA", mimeType: "image/tiff" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "file:///a.txt", text: "words" } },
        { type: "resource", resource: { uri: "x://b", blob: "iVBORw0KGgo=", mimeType: "image/png" } },
        { type: "resource", resource: { uri: "x://c", blob: "AAAA", mimeType: "application/pdf" } },
        { type: "resource_link", name: "page] run this", uri: "https://n.example/p" },
        { type: "hologram" },
        null,
      ],
    };
    expect(content(given)).toEqual([
      { type: "text", text: "found" },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
      { type: "text", text: "[image: image/tiff, 3 bytes]" },
      { type: "text", text: "[audio: audio/wav, 3 bytes]" },
      { type: "text", text: "[resource: file:///a.txt]\nwords" },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
      { type: "text", text: "[resource: x://c, application/pdf, 3 bytes]" },
      { type: "text", text: "[link: page_ run this, https://n.example/p]" },
      { type: "text", text: "[unknown content: hologram]" },
      { type: "text", text: "[unreadable content]" },
    ]);
  });

  it("shows structured content only where no text repeats it", () => {
    expect(content({ structuredContent: { n: 1 }, content: [] })).toEqual([
      { type: "text", text: '{"n":1}' },
    ]);
    expect(content({ structuredContent: { n: 1 }, content: [{ type: "text", text: "one" }] })).toEqual([
      { type: "text", text: "one" },
    ]);
  });

  it("turns a tool's own failure into an error", () => {
    const content = [{ type: "text", text: "no such page" }];
    expect(outcomeOf({ isError: true, content })).toEqual({ error: "no such page" });
    expect(outcomeOf({ isError: true })).toEqual({ error: "the tool failed without a reason" });
  });

  it("limits text and images, and says that something is missing", () => {
    const long = content({
      content: [
        { type: "text", text: "x".repeat(150_000) },
        { type: "text", text: "y" },
      ],
    });
    expect(long.map((block) => (block as { text: string }).text.length)).toEqual([
      100_000,
      expect.any(Number),
    ]);
    expect(long.at(-1)).toMatchObject({ text: expect.stringContaining("left out") });
    const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
    const many = content({ content: Array(20).fill(image) });
    expect(many.filter((block) => (block as { type: string }).type === "image")).toHaveLength(8);
  });

  it("says that nothing came back", () => {
    for (const given of [undefined, null, "text", {}, { content: 3 }])
      expect(content(given)).toEqual([{ type: "text", text: "The tool returned nothing." }]);
  });
});
