import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Gateway } from "../../../functions/socket/gateway.ts";
import { objectMethods } from "../../../functions/socket/methods/objects.ts";
import { contentHash, metadataViewHash, objectHash } from "../../../shared/objects/hash.ts";
import { type ParamsInput, parseParams } from "../../../shared/protocol/methods.ts";
import { type ListedObject, type MemoryObject, objectTypes } from "../../../shared/protocol/objects.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import { metaKey } from "../../../shared/session/state.ts";
import { set } from "../../../shared/world/expression.ts";
import { message, nextDay, ResetBench, reset } from "../../agent/reset-bench.ts";
import { isReading } from "../../support/models/model-window.ts";

const turns = new ResetBench();
beforeAll(() => turns.start());
beforeEach(() => {
  turns.renew();
  turns.reply = (request) => {
    if (isReading(request)) return { text: "<memories></memories>" };
    const last = request.turns.at(-1);
    if (last?.role === "user" && last.text.includes("plan"))
      return {
        text: "I look",
        toolCalls: [
          { name: "gsv__ReadFile", arguments: { path: "plan.md" } },
          { name: "gsv__ReadFile", arguments: { path: "none.md" } },
        ],
      };
    return { text: "an answer" };
  };
});
afterAll(() => turns.close());

type ObjectMethod = keyof typeof objectMethods;

/** Calls a method like the socket function after the checks of params and rights. */
async function call<M extends ObjectMethod>(method: M, params: ParamsInput<M>): Promise<Results[M]> {
  const { table, bucket } = turns.state;
  const configuration = { load: async () => turns.bench.configuration };
  const gateway = { table, bucket, configuration } as unknown as Gateway;
  const { handle } = objectMethods[method] as { handle: (...given: unknown[]) => Promise<unknown> };
  return (await handle(gateway, parseParams(method, params), { id: "r", caller: {} })) as Results[M];
}

const put = (path: string, text: string) => turns.state.bucket.put(`agents/${turns.agentId}/${path}`, text);

/** Two turns with different souls, the first with two calls, one of which fails. */
async function talk(): Promise<void> {
  await put("plan.md", "# Plan\nü 🐙\n");
  await put("SOUL.md", "first soul");
  await turns.submit(message("read the plan", nextDay));
  await turns.invoke(nextDay);
  await put("SOUL.md", "second soul");
  await turns.submit(message("go on", nextDay + 360_000));
  await turns.invoke(nextDay + 360_000);
}

const where = () => ({ sessionKey: turns.key });
const list = async (more: object = {}) => (await call("object.list", { ...where(), ...more })).objects;
const idOf = (objects: readonly ListedObject[], type: string) => objects.find((one) => one.type === type)!.id;
const getAll = async () => {
  const objects = await list();
  return Promise.all(objects.map(({ id }) => call("object.get", { ...where(), id })));
};

describe("object.list, object.get, object.history and object.diff", () => {
  it("M1, M16: list the objects of a conversation, calls by their stored ids", async () => {
    await talk();
    const objects = await list();
    expect(objects.map(({ type, status, path }) => [type, status ?? path ?? ""])).toEqual([
      ["session", ""],
      ["system_prompt", ""],
      ["chat", ""],
      ["toolcall", "ok"],
      ["toolcall", "fail"],
      ["file", "plan.md"],
    ]);
    const stored = (await turns.live()).flatMap((one) => (one.role === "toolResult" ? [one.toolCallId] : []));
    const calls = objects.filter(({ type }) => type === "toolcall");
    expect(calls.map(({ id }) => id)).toEqual(stored);
    expect(await call("object.list", { ...where(), type: "toolcall", offset: 1, limit: 1 })).toMatchObject({
      objects: [{ id: stored[1] }],
      count: 2,
    });
  });

  it("M6, M7, M8: the hashes of each type are those of the exported fields", async () => {
    await talk();
    const objects = await getAll();
    expect(new Set(objects.map(({ type }) => type))).toEqual(new Set(objectTypes));
    for (const object of objects) {
      const { content, content_hash, metadata_view_hash, object_hash } = object;
      expect(content_hash).toBe(
        createHash("sha256")
          .update(content ?? "")
          .digest("hex"),
      );
      expect([content_hash, metadata_view_hash, object_hash]).toEqual([
        contentHash(content),
        metadataViewHash(object),
        objectHash(object),
      ]);
    }
  });

  it.runIf(spawnSync("python3", ["--version"]).status === 0)(
    "M6, M7, M8: a Python program computes the same hashes from the export, for every type and version",
    async () => {
      await talk();
      const exported: MemoryObject[] = [];
      for (const { id } of await list()) {
        const { versions } = await call("object.history", { ...where(), id });
        for (const { version_no: version } of versions)
          exported.push(await call("object.get", { ...where(), id, version }));
      }
      const input = exported.map((one) => `${JSON.stringify(one)}\n`).join("");
      const program = new URL("../../objects/object-hashes.py", import.meta.url).pathname;
      const output = execFileSync("python3", [program], { input, encoding: "utf8" });
      const computed = output.trimEnd().split("\n");
      expect(computed.map((line) => JSON.parse(line))).toEqual(
        exported.map(({ id, content_hash, metadata_view_hash, object_hash }) => {
          return { id, content_hash, metadata_view_hash, object_hash };
        }),
      );
      expect(exported.length).toBeGreaterThan(12);
    },
  );

  it("M3, M11, M14: the prompts of a conversation are compared, and found by the message that used them", async () => {
    await talk();
    const id = idOf(await list(), "system_prompt");
    const { versions, count } = await call("object.history", { ...where(), id });
    expect(versions.map(({ version_no, message: n }) => [version_no, n])).toEqual([
      [1, 2],
      [2, 7],
    ]);
    expect(count).toBe(2);
    const first = await call("object.get", { ...where(), id, message: 2 });
    expect(first.content).toContain("first soul");
    expect(first.content_hash).toBe(versions[0]!.content_hash);
    expect((await call("object.get", { ...where(), id })).content).toContain("second soul");
    expect(await call("object.history", { ...where(), id, before: 2 })).toMatchObject({
      versions: [{ version_no: 1 }],
      count: 2,
    });
    const { diff, same, from, to } = await call("object.diff", {
      from: { ...where(), id, version: 1 },
      to: { ...where(), id },
    });
    expect(diff).toMatch(/^-first soul$/m);
    expect(diff).toMatch(/^\+second soul$/m);
    expect([same, from.version_no, to.version_no]).toEqual([false, 1, 2]);
  });

  it("M14: the prompts of two sessions are compared", async () => {
    await talk();
    const one = { ...where(), id: idOf(await list(), "system_prompt") };
    turns.newSession();
    await talk();
    const other = { ...where(), id: idOf(await list(), "system_prompt") };
    const { diff } = await call("object.diff", { from: one, to: other });
    expect(diff).toContain(`+- Session: ${turns.key} (main)`);
    expect(await call("object.diff", { from: one, to: one })).toMatchObject({ same: true, diff: "" });
  });

  it("M41: a compaction and a reset leave every object unchanged", async () => {
    await talk();
    const before = await getAll();
    const state = await turns.current();
    const client = { kind: "client", connectionId: "c", requestId: "r" } as const;
    const compact = { kind: "compact", keep: 1, via: "method" } as const;
    await turns.submit({ id: "compact", at: nextDay + 90_000, origin: client, ...compact });
    await turns.invoke(nextDay + 90_000);
    expect((await turns.current()).first).toBeGreaterThan(1);
    expect(await getAll()).toEqual(before);
    await turns.submit(reset("method", nextDay + 120_000));
    await turns.invoke(nextDay + 120_000);
    expect((await turns.current()).sessionId).not.toBe(state.sessionId);
    const again = await Promise.all(
      before.map(({ id }) => call("object.get", { ...where(), sessionId: state.sessionId, id })),
    );
    expect(again).toEqual(before);
    // The ids of chats and prompts contain the conversation's id.
    expect(await call("object.get", { ...where(), id: `chat:${state.sessionId}` })).toEqual(before[2]);
  });

  it("M40: the session shows the objects that clients have pinned and deactivated, also after a compaction", async () => {
    await talk();
    const { sessionId, head } = await turns.current();
    const [, called] = (await list({ type: "toolcall" })).map(({ id }) => id);
    const pinned = {
      ...{ id: "file:gsv:plan.md", title: "plan.md", characters: 3, state: "pinned" },
      ...{ source: { kind: "file", path: "plan.md" }, after: head - 2, at: nextDay },
    };
    const changes = [pinned, { id: called!, state: "inactive", after: head - 1, at: nextDay }];
    await turns.state.table.update(metaKey(turns.key), [set("context", { changes })]);
    const id = `session:${turns.key}`;
    const sets = async (message: number) => {
      const object = await call("object.get", { ...where(), id, message });
      return object.type === "session" && [object.pinned_set, object.inactive_set];
    };
    expect([await sets(head - 3), await sets(head - 2), await sets(head)]).toEqual([
      [[], []],
      [["file:gsv:plan.md"], []],
      [["file:gsv:plan.md"], [called]],
    ]);
    const client = { kind: "client", connectionId: "c", requestId: "r" } as const;
    const compact = { kind: "compact", keep: 1, via: "method" } as const;
    await turns.submit({ id: "compact", at: nextDay + 90_000, origin: client, ...compact });
    await turns.invoke(nextDay + 90_000);
    expect((await turns.current()).sessionId).toBe(sessionId);
    expect(await call("object.get", { ...where(), id })).toMatchObject({ pinned_set: ["file:gsv:plan.md"] });
  });

  it("answer 404 for a missing object, and for one of another session of the agent", async () => {
    await talk();
    const mine = where();
    const { sessionId } = await turns.current();
    const refused = { code: 404 };
    await expect(call("object.get", { ...mine, id: "toolu_none" })).rejects.toMatchObject(refused);
    await expect(call("object.get", { ...mine, id: `chat:${sessionId}`, version: 99 })).rejects.toMatchObject(
      refused,
    );
    await expect(call("object.get", { ...mine, id: "chat:../../x" })).rejects.toMatchObject(refused);
    const other = `agent:${turns.agentId}:other`;
    await expect(call("object.list", { sessionKey: other })).rejects.toMatchObject(refused);
    await expect(call("object.list", { sessionKey: other, sessionId })).rejects.toMatchObject(refused);
    await expect(call("object.get", { sessionKey: other, id: `chat:${sessionId}` })).rejects.toMatchObject(
      refused,
    );
    await turns.submit(reset("method", nextDay + 120_000));
    await turns.invoke(nextDay + 120_000);
    await expect(call("object.get", { sessionKey: other, id: `chat:${sessionId}` })).rejects.toMatchObject(
      refused,
    );
    expect(await call("object.get", { ...mine, id: `chat:${sessionId}` })).toMatchObject({ type: "chat" });
  });

  it("are only for clients", () => {
    for (const { modes } of Object.values(objectMethods)) expect(modes).toEqual(["client"]);
  });
});
