import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withHashes } from "../../../../shared/objects/hash.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const run = (...args: string[]) =>
  gsv(["object", ...args], { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const answers = (method: string, answer: FakeMethod) => {
  gateway.methods = { [method]: answer };
};

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

const sessionKey = "agent:main:main";
const file = withHashes({
  id: "file:gsv:plan.md",
  type: "file",
  content: "one\ntwo",
  locked: false,
  provenance: { origin: "gsv", generator: "agent" },
  version_no: 2,
  at: Date.UTC(2026, 0, 2),
  path: "plan.md",
  file_type: "md",
  char_count: 7,
});

describe("gsv object list", () => {
  const common = { locked: false, version_no: 2, at: 1, message: 3 };
  const list = {
    sessionKey,
    sessionId: "s",
    objects: [
      { id: "c1", type: "toolcall", tool: "t", args_display: 't: "x"', status: "ok", ...common },
      { id: "file:gsv:plan.md", type: "file", path: "plan.md", char_count: 7, ...common },
    ],
    count: 5,
  };

  it("shows one object per line, and the number of further ones", async () => {
    answers("object.list", () => list);
    const { stdout, stderr } = await run("list", "--limit", "2");
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/).filter((_, i) => i !== 3))).toEqual([
      ["TYPE", "ID", "VERSION", "WHAT"],
      ["toolcall", "c1", "v2", 't: "x" (ok)'],
      ["file", "file:gsv:plan.md", "v2", "7 characters"],
      [""],
    ]);
    expect(stderr).toBe("3 more; use --limit and --offset to show them\n");
    expect(gateway.requests).toEqual([
      { method: "object.list", params: { sessionKey, limit: 2, offset: 0 } },
    ]);
  });

  it("prints {objects: [{id, type, …}]} with --json", async () => {
    answers("object.list", () => list);
    const { stdout } = await run(
      "list",
      "--json",
      "--type",
      "file",
      "--session",
      "work",
      "--conversation",
      "s",
    );
    expect(JSON.parse(stdout)).toEqual(list);
    expect(gateway.requests[0]!.params).toMatchObject({ sessionKey: "work", sessionId: "s", type: "file" });
  });

  it("refuses an unknown type, and lists the known ones", async () => {
    const { code, stderr } = await run("list", "--type", "files");
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(
        "--type must be one of system_prompt, toolcall, chat, session, file, not files",
      ),
    ]);
  });
});

describe("gsv object get", () => {
  it("prints the whole object with --json", async () => {
    answers("object.get", () => file);
    expect(JSON.parse((await run("get", file.id, "--json")).stdout)).toEqual(file);
  });

  it("shows its fields and its content", async () => {
    answers("object.get", () => file);
    const { stdout } = await run("get", file.id);
    expect(stdout).toMatch(/^id +file:gsv:plan.md\ntype +file\n/);
    expect(stdout).toMatch(/at +2026-01-02T00:00:00.000Z\n\none\ntwo\n$/);
  });

  it("M7: prints exactly the content with --content, so that sha256sum prints its hash", async () => {
    answers("object.get", () => file);
    const { stdout } = await run("get", file.id, "--content");
    expect(stdout).toBe("one\ntwo");
    expect(createHash("sha256").update(stdout).digest("hex")).toBe(file.content_hash);
    answers("object.get", () => ({ ...file, content: null }));
    expect(await run("get", file.id, "--content")).toMatchObject({
      stdout: "",
      stderr: "file:gsv:plan.md has no text\n",
    });
  });

  it("M3: requests a version by its number, a time, a message or a hash", async () => {
    answers("object.get", () => file);
    const { id } = file;
    await run("get", id, "--version-no", "1");
    await run("get", id, "--at", "2026-01-02T00:00:00Z");
    await run("get", id, "--at", "1767312000000");
    await run("get", id, "--message", "4");
    await run("get", id, "--hash", file.object_hash);
    expect(gateway.requests.map(({ params }) => params)).toEqual([
      { sessionKey, id, version: 1 },
      { sessionKey, id, at: Date.UTC(2026, 0, 2) },
      { sessionKey, id, at: 1767312000000 },
      { sessionKey, id, message: 4 },
      { sessionKey, id, hash: file.object_hash },
    ]);
    expect((await run("get", id, "--at", "yesterday")).stderr).toContain("--at must be a time such as");
  });

  it("looks for a session's object in the session named by its id", async () => {
    answers("object.get", () => file);
    await run("get", "session:agent:work:main");
    expect(gateway.requests[0]!.params).toMatchObject({ sessionKey: "agent:work:main" });
  });

  it("reports an object that does not exist", async () => {
    answers("object.get", () => {
      throw new PeerError(
        404,
        "no object x in conversation s of session agent:main:main; object.list lists its objects",
      );
    });
    const { code, stderr } = await run("get", "x");
    expect([code, stderr]).toEqual([1, expect.stringContaining("object.list lists its objects")]);
  });
});

describe("gsv object history and gsv object diff", () => {
  const { content_hash, metadata_view_hash, object_hash } = file;
  const ref = { version_no: 1, at: 1, content_hash, metadata_view_hash, object_hash };

  it("lists the versions with their hashes", async () => {
    const history = { id: file.id, type: "file", versions: [{ ...ref, message: 4 }], count: 1 };
    answers("object.history", () => history);
    const { stdout } = await run("history", file.id, "--limit", "1", "--before", "2");
    expect(stdout).toContain(`4        ${content_hash}  ${object_hash}`);
    expect(gateway.requests[0]!.params).toEqual({ sessionKey, id: file.id, limit: 1, before: 2 });
    expect(JSON.parse((await run("history", file.id, "--json")).stdout)).toEqual(history);
  });

  it("M14: compares two versions of an object, from the first to the newest, or two objects", async () => {
    const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n";
    const id = file.id;
    answers("object.diff", () => ({ from: { id, ...ref }, to: { id, ...ref }, same: false, diff }));
    expect((await run("diff", id)).stdout).toBe(diff);
    await run("diff", id, "--from", "2", "--to", "3");
    await run("diff", "system_prompt:main:a", "system_prompt:main:b", "--other-session", "agent:main:work");
    expect(gateway.requests.map(({ params }) => params)).toEqual([
      { from: { sessionKey, id, version: 1 }, to: { sessionKey, id } },
      { from: { sessionKey, id, version: 2 }, to: { sessionKey, id, version: 3 } },
      {
        from: { sessionKey, id: "system_prompt:main:a" },
        to: { sessionKey: "agent:main:work", id: "system_prompt:main:b" },
      },
    ]);
    answers("object.diff", () => ({ from: { id, ...ref }, to: { id, ...ref }, same: true, diff: "" }));
    expect((await run("diff", id)).stdout).toBe("the contents are the same\n");
  });
});
