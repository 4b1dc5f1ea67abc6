import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

const run = (args: string[], more: { input?: string; cwd?: string } = {}) =>
  gsv(args, { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" }, ...more });

describe("gsv object export", () => {
  it("prints the texts of all pages one after the other, with and without --json", async () => {
    const pages: Record<string, object> = {
      "": { text: '{"a":1}\n{"b"', next: "2.0.12" },
      "2.0.12": { text: ":2}\n" },
    };
    gateway.methods = { "session.export": ({ params }) => pages[params.next ?? ""] };
    for (const json of [[], ["--json"]])
      expect((await run(["object", "export", ...json])).stdout).toBe('{"a":1}\n{"b":2}\n');
    expect(gateway.requests[0]).toEqual({
      method: "session.export",
      params: { sessionKey: "agent:main:main", format: "pi", redact: false, maxBytes: 4_000_000 },
    });
  });

  const earlier = ["--agent", "work", "--format", "nexo", "--redact"];
  const key = "agent:main:holidays";
  it.each([
    [["object", "export", ...earlier, "--conversation", "id-1"], { agentId: "work" }],
    [["session", "export", ...earlier, "--id", "id-1"], { agentId: "work" }],
    [
      ["object", "export", ...earlier.slice(2), "--conversation", "id-1", "--session", key],
      { sessionKey: key },
    ],
    [["session", "export", key, ...earlier.slice(2), "--id", "id-1"], { sessionKey: key }],
  ])("asks for a format, an earlier conversation and no secrets: %j", async (args, owner) => {
    gateway.methods = { "session.export": () => ({ text: "" }) };
    await run(args);
    expect(gateway.requests[0]?.params).toEqual({
      ...{ ...owner, sessionId: "id-1", format: "nexo", redact: true, maxBytes: 4_000_000 },
    });
  });

  it("lists the formats, and ends when the gateway returns a page twice", async () => {
    const wrong = await run(["object", "export", "--format", "xml"]);
    expect(wrong.stderr).toContain("--format must be one of pi, turns, openai, anthropic, nexo, not xml");
    expect(wrong.code).toBe(2);
    gateway.methods = { "session.export": () => ({ text: "x", next: "1.0.1" }) };
    expect((await run(["object", "export"])).stderr).toContain("same page twice");
  });
});

describe("gsv object import", () => {
  const pi = '{"role":"user","content":"hi","timestamp":1}\n';
  const turns = '{"type":"session","version":1,"id":"x","agent_id":"main"}\n';
  const answer = { ok: true, sessionKey: "agent:main:copy", sessionId: "id", messages: 1 };

  it.each([
    ["object", ["--session", "copy"]],
    ["session", ["copy"]],
  ])("sends a file under a new id, and says how to go on: gsv %s import", async (group, session) => {
    gateway.methods = { "session.import": () => answer };
    const cwd = await newFolder();
    await writeFile(join(cwd, "said.jsonl"), pi);
    const { stdout } = await run([group, "import", "said.jsonl", ...session], { cwd });
    expect(stdout).toBe("1 message imported; continue with: gsv client --session agent:main:copy\n");
    expect(gateway.requests).toEqual([
      {
        method: "session.import",
        params: {
          sessionKey: "copy",
          importId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          format: "pi",
          lines: pi,
        },
      },
    ]);
  });

  it("reads standard input, and generates a session key", async () => {
    gateway.methods = { "session.import": () => ({ ...answer, messages: 3 }) };
    const { stdout } = await run(["object", "import", "-", "--json"], { input: turns });
    expect(JSON.parse(stdout)).toEqual({ ...answer, messages: 3 });
    const params = gateway.requests[0]?.params as Record<string, string>;
    expect(params).toMatchObject({ format: "turns", lines: turns });
    expect(params.sessionKey).toBe(`imported-${String(params.importId).slice(0, 8)}`);
  });

  it.each([
    ["no json", /first line is not JSON/],
    [
      '{"type":"session","version":1,"id":"x","timestamp":"2026-01-01T00:00:00Z"}',
      /other formats cannot be imported/,
    ],
    ['{"role":"user","content":"hi"}', /other formats cannot be imported/],
  ])("refuses what is no such export: %s", async (input, reason) => {
    const { stderr, code } = await run(["object", "import", "-"], { input });
    expect(stderr).toMatch(reason);
    expect(code).toBe(2);
    expect(gateway.requests).toEqual([]);
  });
});
