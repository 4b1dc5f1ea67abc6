import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addJob } from "../../shared/cron/jobs.ts";
import { parseParams } from "../../shared/protocol/methods.ts";
import { metaKey, newSession } from "../../shared/session/state.ts";
import { answered, CronBench, friday, hour, task } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

const hourly = { kind: "every", everyMs: hour };
const former = { kind: "channel", channel: "slack", accountId: "team", peer: { kind: "dm", id: "D1" } };

/** A session whose last message came from the former owner. */
async function keepSession(sessionKey: string): Promise<void> {
  const state = newSession(sessionKey, "s", friday) as object;
  await cron.state.table.put({ ...state, ...metaKey(sessionKey), lastChannel: former });
}

describe("an unprompted message of the gateway", () => {
  it("from an event, or with an answer for the last place, does not reach a former owner", async () => {
    cron.configuration.channels = { slack: { owners: ["olga"] } };
    await cron.hear(former, "olga");
    await keepSession("agent:main:main");
    await cron.add({ schedule: hourly, spec: { mode: "systemEvent", text: "Look around" } });
    const { id } = await cron.add({ schedule: hourly, spec: task("x", { deliver: true, channel: "last" }) });
    cron.configuration.channels = { slack: { owners: [] } };
    await cron.until(friday + hour);
    expect(await cron.asked("agent:main:main")).toHaveLength(1);
    expect([...cron.delivered.values()]).toEqual([]);
    const error = "no owner has written to the agent in a direct message on any channel: name channel and to";
    expect((await cron.runs(id))[0]).toMatchObject({ status: "error", error });
  });

  describe("while the owners change", () => {
    const otto = { ...former, channel: "discord", peer: { kind: "dm", id: "D2" } } as const;
    const owners = (...ids: string[]) => {
      cron.cached ??= structuredClone(cron.configuration);
      cron.configuration.channels = { slack: { owners: ids }, discord: { owners: ids } };
    };
    beforeEach(async () => {
      owners("olga", "otto");
      cron.cached = undefined;
      await cron.hear(otto, "otto");
      cron.now += 1000;
      await cron.hear(former, "olga");
    });
    const places = () => [...cron.delivered.values()].map(({ origin }) => origin.peer.id);
    const last = { deliver: true, channel: "last" };

    it.each([
      ["an event", { mode: "systemEvent", text: "Look around" }, ["D2"]],
      ["a task", task("x", last), ["D2"]],
      ["a task for one channel", task("x", { deliver: true, channel: "slack" }), []],
    ])("the answer to %s goes to who is an owner when it is delivered", async (_what, spec, to) => {
      await cron.add({ schedule: hourly, spec });
      cron.answer = () => {
        owners("otto");
        return answered("done");
      };
      await cron.until(friday + hour + 2000);
      expect(places()).toEqual(to);
    });

    it("an owner that the cached configuration lacks gets the answer, a former one gets none", async () => {
      await cron.add({ schedule: hourly, spec: task("x", last) });
      owners("otto");
      await cron.until(friday + hour + 2000);
      expect(places()).toEqual(["D2"]);
      owners();
      await cron.until(friday + 2 * hour + 2000);
      expect(places()).toEqual(["D2"]);
      expect(cron.calls).toHaveLength(1);
    });

    it("a former owner's job does not start, and the answer of one that has started is not delivered", async () => {
      const sender = { channel: "slack", senderId: "olga" };
      const named = { deliver: true, channel: "slack", to: "D1" };
      const job = { name: "job", schedule: hourly, spec: task("x", named) };
      const { id } = await addJob(cron.world(), parseParams("cron.add", job), { sender, origins: [] });
      cron.answer = () => {
        owners("otto");
        return answered("done");
      };
      await cron.until(friday + hour + 2000);
      await cron.until(friday + 2 * hour + 2000);
      expect(places()).toEqual([]);
      expect(cron.calls).toHaveLength(1);
      const error = expect.stringContaining("no longer an owner");
      expect(await cron.runs(id)).toMatchObject([
        { status: "skipped", error },
        { status: "error", error },
      ]);
    });

    it.each([
      ["an owner", "olga", ["D1"]],
      ["a former owner", "otto", []],
    ])("the answer to a command of %s is delivered only if they are still one", async (_who, owner, to) => {
      const origin = { ...former, sessionKey: "agent:main:slack:dm:olga" };
      const more = { at: friday, origin, senderId: "olga" };
      await cron.bench.submit(origin.sessionKey, {
        ...more,
        id: "m",
        kind: "message",
        text: "hello",
      } as never);
      await cron.bench.submit(origin.sessionKey, {
        ...more,
        id: "r",
        kind: "reset",
        via: "command",
      } as never);
      cron.answer = () => {
        owners(owner);
        return answered("done");
      };
      cron.woken.add(origin.sessionKey);
      await cron.work();
      expect(cron.delivered.has("r")).toBe(to.length > 0);
      expect(new Set(places())).toEqual(new Set(to));
    });

    it("gsv__Message of a former owner's run sends nothing", async () => {
      const call = {
        type: "toolCall",
        id: "c",
        name: "gsv__Message",
        arguments: { text: "private" },
      } as const;
      cron.answer = () => {
        owners("otto");
        return cron.calls.length > 1
          ? answered("done")
          : { status: "answered", message: { role: "assistant", content: [call], timestamp: 0 } };
      };
      const origin = { ...former, sessionKey: "agent:main:slack:dm:olga" };
      const entry = { id: "m", at: friday, origin, senderId: "olga", kind: "message", text: "tell me" };
      await cron.bench.submit(origin.sessionKey, entry as never);
      cron.woken.add(origin.sessionKey);
      await cron.work();
      expect(places()).toEqual([]);
      expect(JSON.stringify(cron.calls[1]?.messages)).toContain("no longer an owner");
    });
  });

  it.each(["main", "cron:j1"])(
    "reaches no former owner by gsv__Message without a receiver, from the session %s",
    async (name) => {
      const sessionKey = `agent:main:${name}`;
      await keepSession(sessionKey);
      const call = {
        type: "toolCall",
        id: "c",
        name: "gsv__Message",
        arguments: { text: "private" },
      } as const;
      cron.answer = () =>
        cron.calls.length > 1
          ? answered("done")
          : { status: "answered", message: { role: "assistant", content: [call], timestamp: 0 } };
      const entry = { id: "m", at: friday, origin: { kind: "client" }, kind: "message", text: "tell me" };
      await cron.bench.submit(sessionKey, entry as never);
      cron.woken.add(sessionKey);
      await cron.work();
      expect(cron.calls).toHaveLength(2);
      expect([...cron.delivered.values()]).toEqual([]);
      expect(JSON.stringify(cron.calls[1]?.messages)).toContain(
        "this conversation was not held on a channel yet",
      );
    },
  );
});
