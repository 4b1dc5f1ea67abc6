import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
