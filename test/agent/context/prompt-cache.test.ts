import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createPromptCache } from "../../../functions/agent/context/prompt-cache.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { readText, textKey } from "../../../shared/objects/text-store.ts";
import type { AssistantMessage } from "../../../shared/protocol/messages.ts";
import { metaKey } from "../../../shared/session/state.ts";
import { set } from "../../../shared/world/expression.ts";
import { until } from "../../support/until.ts";
import { immortal, type Life } from "../bench.ts";
import { message, nextDay, ResetBench } from "../reset-bench.ts";

const turns = new ResetBench();
beforeAll(() => turns.start());
beforeEach(() => turns.renew());
afterAll(() => turns.close());

const soul = (text: string) => turns.state.bucket.put(`agents/${turns.agentId}/SOUL.md`, text);
const storedPrompts = () => turns.keysUnder(`agents/${turns.agentId}/objects/`);
const contexts = async () =>
  (await turns.live())
    .filter((one): one is AssistantMessage => one.role === "assistant")
    .map(({ context }) => context!);
const sentPrompts = () =>
  turns.model.requests.map(({ body }) => (body as { messages: { content: string }[] }).messages[0]!.content);

describe("the texts of system prompts", () => {
  it("M11, M15: the prompt of each reply is stored as it was sent", async () => {
    for (const [i, text] of ["first soul", "second soul", "second soul"].entries()) {
      await soul(text);
      await turns.submit(message(`message ${i}`, nextDay + i * 360_000));
      await turns.invoke(nextDay + i * 360_000);
    }
    const used = await contexts();
    expect(new Set(used.map(({ prompt }) => prompt)).size).toBe(2);
    const texts = await Promise.all(
      used.map(({ prompt }) => readText(turns.state.bucket, turns.agentId, prompt)),
    );
    expect(texts).toEqual(sentPrompts());
    expect(texts[0]).toContain("first soul");
    expect(texts[2]).toContain("second soul");
    const keys = used.map(({ prompt }) => textKey(turns.agentId, prompt));
    expect(await storedPrompts()).toEqual([...new Set(keys)].sort());
  });

  it("M11: the text of a prompt is written once, by warm and cold functions", async () => {
    const life = immortal();
    const warm = turns.bench.agent(life);
    const ask = async (text: string, agent = warm) => {
      const before = putsOf(life);
      await turns.submit(message(text, Date.now()));
      await holdSession(agent, turns.key, () => 900_000);
      return putsOf(life) - before;
    };
    const edit = async (text: string) => {
      await soul(text);
      turns.bench.later += 360_000;
    };
    await edit("first soul");
    expect(await ask("one")).toBe(1);
    expect(await ask("two")).toBe(0);
    expect(await ask("three", turns.bench.agent(life))).toBe(0);
    await edit("second soul");
    expect(await ask("four")).toBe(1);
    await edit("first soul");
    expect(await ask("five")).toBe(0);
    expect(await storedPrompts()).toHaveLength(2);
    const [first, , , , fifth] = await contexts();
    expect(fifth!.prompt).toBe(first!.prompt);
    expect((await turns.current()).promptHash).toBe(first!.prompt.slice(0, 12));
    // Earlier versions stored the whole hash.
    await turns.state.table.update(metaKey(turns.key), [set("promptHash", first!.prompt)]);
    expect(await ask("six", turns.bench.agent(life))).toBe(0);
  });

  it("M11: it is written during the model call", async () => {
    turns.reply = async () => {
      await until(async () => (await storedPrompts()).length === 1);
      return { text: "answered once the prompt was stored" };
    };
    await turns.submit(message("hello", nextDay));
    await turns.invoke(nextDay);
    expect(await storedPrompts()).toHaveLength(1);
  });

  it("M11: an answer is sent even if the text cannot be stored, and the next call tries again", async () => {
    const agent = turns.bench.agent();
    const { put } = turns.state.bucket;
    turns.state.bucket.put = async () => {
      throw new Error("the bucket is not there");
    };
    const broken = { ...agent, promptCache: createPromptCache(turns.state.bucket) };
    try {
      await turns.submit(message("one", Date.now()));
      await holdSession(broken, turns.key, () => 900_000);
    } finally {
      turns.state.bucket.put = put;
    }
    expect(await contexts()).toHaveLength(1);
    expect(await turns.current()).not.toHaveProperty("promptHash");
    expect(await storedPrompts()).toEqual([]);
    await turns.submit(message("two", Date.now()));
    await holdSession(broken, turns.key, () => 900_000);
    expect(await storedPrompts()).toHaveLength(1);
  });

  it("M11: the result is the same if the process dies after any of its AWS calls", async () => {
    const end = async (left: number) => {
      turns.newSession();
      await soul("the soul");
      await turns.submit(message("hello", Date.now()));
      const life: Life = { left, calls: [] };
      for (let lives = 0; !(await turns.bench.invoke(turns.key, lives === 0 ? life : undefined)); lives++)
        expect(lives).toBeLessThan(3);
      if ((await turns.current()).run) await turns.bench.invoke(turns.key);
      const { run, inbox, promptHash } = await turns.current();
      const [used, ...more] = await contexts();
      const text = await readText(turns.state.bucket, turns.agentId, used!.prompt);
      const stored = await storedPrompts();
      return {
        calls: life.calls,
        left: { run, inbox, more, isNoted: used!.prompt.startsWith(promptHash!), objects: stored.length },
        text: text?.replaceAll(turns.agentId, "agent"),
      };
    };
    const whole = await end(Number.POSITIVE_INFINITY);
    expect(whole.left).toEqual({ run: undefined, inbox: [], more: [], isNoted: true, objects: 1 });
    expect(whole.calls).toContain("bucket.put");
    for (let calls = 1; calls < whole.calls.length; calls++) {
      const broken = await end(calls);
      expect([broken.left, broken.text], `killed after ${calls} calls`).toEqual([whole.left, whole.text]);
    }
  });

  it("cannot be read, changed or deleted as files of the workspace", async () => {
    await turns.submit(message("hello", nextDay));
    await turns.invoke(nextDay);
    const [context] = await contexts();
    const path = `objects/${context!.prompt}`;
    const { workspace } = turns.bench.agent();
    for (const one of [path, `/${path}`]) {
      await expect(workspace.read(turns.agentId, one)).rejects.toThrow(/object\.get/);
      await expect(workspace.write(turns.agentId, one, "x")).rejects.toThrow(/object\.get/);
      await expect(workspace.delete(turns.agentId, one)).rejects.toThrow(/object\.get/);
    }
  });
});

function putsOf(life: Life): number {
  return life.calls.filter((call) => call === "bucket.put").length;
}
