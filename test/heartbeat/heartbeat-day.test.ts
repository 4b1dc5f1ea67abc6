import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { groupUpdate, textUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { HeartbeatBench, minute, owner } from "./heartbeat-bench.ts";

const bench = new HeartbeatBench();
beforeAll(() => bench.open());
afterAll(() => bench.close());

const session = "agent:main:heartbeat:system:internal";
const every = (value: string) => ({ "agents.defaultHeartbeat.every": value });
const berlin = { userTimezone: "Europe/Berlin" };
const stateOf = async () => bench.call("session.get", { sessionKey: session });

/** Turns the heartbeat on, with something to look after. */
async function begin(time: string, settings: Record<string, unknown> = {}): Promise<void> {
  await bench.renew(time, settings);
  await bench.write("HEARTBEAT.md", "Tell me when the build fails.");
  await bench.call("heartbeat.start");
}

describe("a day of heartbeats", () => {
  it("reports to nobody who is no longer an owner when the model has answered", async () => {
    await begin("2026-05-05T08:00:00Z");
    await bench.hear(textUpdate("/status", { from: { id: owner } }));
    bench.telegram.sent.length = 0;
    bench.script = async () => {
      await bench.call("config.set", { path: "channels.telegram.owners", value: [] });
      return { text: "The build fails." };
    };
    await bench.beat();
    bench.script = undefined;
    expect(await bench.status()).toMatchObject({ lastHeartbeatText: "The build fails." });
    expect(bench.sent).toEqual([]);
  });

  it.each([
    ["on which clocks are set forward", "2026-03-29"],
    ["on which clocks are set back", "2026-10-25"],
    ["like others", "2026-05-05"],
  ])("%s begins and ends with the active hours, and asks the model at each beat", async (_what, day) => {
    await begin(`${day}T00:00:00Z`, berlin);
    const beats: string[] = [];
    while (bench.next && bench.next.at < Date.parse(`${day}T22:30:00Z`)) {
      await bench.beat();
      beats.push(bench.local("Europe/Berlin"));
    }
    expect(beats).toHaveLength(30);
    expect([beats[0], beats[1], beats.at(-1)]).toEqual([`${day} 08:00`, `${day} 08:30`, `${day} 22:30`]);
    expect(bench.model.requests).toHaveLength(30);
    expect(bench.model.requests[0]?.system).toContain("## Heartbeats\n\nTell me when the build fails.");
    expect(bench.model.requests[0]?.turns.at(-1)?.text).toContain("This is a periodic check.");
    expect(await bench.status()).toMatchObject({
      agentId: "main",
      lastHeartbeatAt: bench.time,
      lastHeartbeatText: "HEARTBEAT_OK",
      lastHeartbeatSentAt: null,
      nextHeartbeatAt: bench.next?.at,
    });
    expect(bench.sent).toEqual([]);
  });

  it("goes over midnight, with clocks set back in between", async () => {
    const night = {
      "agents.defaultHeartbeat.activeHours": { start: "22:00", end: "06:00", timezone: "user" },
    };
    await begin("2026-10-24T12:00:00Z", { ...berlin, ...every("2h"), ...night });
    const beats: string[] = [];
    for (let count = 0; count < 6; count++) {
      await bench.beat();
      beats.push(bench.local("Europe/Berlin").slice(5));
    }
    expect(beats).toEqual([
      "10-24 22:00",
      "10-25 00:00",
      "10-25 02:00",
      "10-25 03:00",
      "10-25 05:00",
      "10-25 22:00",
    ]);
  });
});

describe("a beat", () => {
  const skips = async () => {
    const { lastSkipReason, lastSkippedAt } = await bench.status();
    return { lastSkipReason, isNow: lastSkippedAt === bench.time };
  };

  it("is skipped without a model call while there is nothing to look after", async () => {
    await bench.renew("2026-05-05T08:00:00Z");
    await bench.call("heartbeat.start");
    await bench.beat();
    expect(await skips()).toEqual({ lastSkipReason: "no_heartbeat_file", isNow: true });
    await bench.write("HEARTBEAT.md", "# Heartbeat\n<!-- write below -->\n");
    await bench.beat();
    expect(await skips()).toEqual({ lastSkipReason: "empty_heartbeat_file", isNow: true });
    expect(bench.model.requests).toEqual([]);
    expect((await stateOf()).sessionId).toBe("");
    await bench.write("HEARTBEAT.md", "# Heartbeat\nRead the news.\n");
    await bench.beat();
    expect(bench.model.requests).toHaveLength(1);
  });

  it("is skipped when it comes late, after the active hours", async () => {
    await begin("2026-05-05T22:00:00Z");
    const last = bench.next!;
    expect(last.at).toBe(Date.parse("2026-05-05T22:30:00Z"));
    bench.time = Date.parse("2026-05-05T23:00:00Z");
    await bench.beat();
    expect(await skips()).toEqual({ lastSkipReason: "outside_active_hours", isNow: true });
    expect(bench.model.requests).toEqual([]);
    expect(bench.next?.at).toBe(Date.parse("2026-05-06T08:00:00Z"));
  });

  it("wakes nothing once the limit for heartbeats is used up", async () => {
    await begin("2026-05-05T08:00:00Z");
    const rule = { id: "beats", scope: "kind", of: "heartbeat", per: "day", usd: 0, atLimit: "refuse" };
    await bench.call("config.set", { path: "budgets.rules", value: [rule] });
    await bench.beat();
    expect(await skips()).toEqual({ lastSkipReason: "budget", isNow: true });
    expect((await stateOf()).sessionId).toBe("");
    expect(bench.model.requests).toEqual([]);
  });

  it("is skipped while the one before is being worked on", async () => {
    await begin("2026-05-05T08:00:00Z");
    const { at, event } = bench.next!;
    bench.time = at;
    await bench.fire(event);
    bench.time = at + 30 * minute;
    await bench.fire({ kind: "heartbeat", agentId: "main", at: bench.time });
    expect(await skips()).toEqual({ lastSkipReason: "session_busy", isNow: true });
    await bench.runAgents();
    expect(bench.model.requests).toHaveLength(1);
  });

  it("asks once when its schedule fires twice, at once and later", async () => {
    await begin("2026-05-05T08:00:00Z");
    const { at, event } = bench.next!;
    bench.time = at;
    await Promise.all([bench.fire(event), bench.fire(event)]);
    await bench.runAgents();
    await bench.fire(event);
    await bench.runAgents();
    expect(bench.model.requests).toHaveLength(1);
    expect(bench.pending.filter((one) => one.at === at + 30 * minute)).toHaveLength(1);
  });

  it("comes by the sweep, once and late, when its schedule was lost", async () => {
    await begin("2026-05-05T08:00:00Z");
    bench.pending.length = 0;
    await bench.pass(31);
    expect(bench.model.requests).toHaveLength(0);
    await bench.pass(3);
    expect(bench.model.requests).toHaveLength(1);
    expect(bench.next?.at).toBe(Date.parse("2026-05-05T09:00:00Z"));
    // The alarm is about sessions that an agent left, and this was none.
    await bench.fire({ kind: "watch" });
  });

  it("that was missed for hours comes once, and the next one in its turn", async () => {
    await begin("2026-05-05T08:00:00Z");
    bench.time = Date.parse("2026-05-05T12:07:00Z");
    await bench.beat();
    expect(bench.model.requests).toHaveLength(1);
    expect(bench.next?.at).toBe(Date.parse("2026-05-05T12:30:00Z"));
  });
});

describe("the answer to a beat", () => {
  it("goes to the owner's last chat, as no reply to anything", async () => {
    await begin("2026-05-05T08:00:00Z");
    await bench.hear(textUpdate("/status", { from: { id: owner } }));
    bench.telegram.sent.length = 0;
    bench.reply = { text: "The build fails." };
    await bench.beat();
    expect(bench.sent).toEqual([`${owner}: The build fails.`]);
    const [{ params } = { params: {} }] = bench.telegram.calls
      .filter(({ method }) => method === "sendMessage")
      .slice(-1);
    expect(params).not.toHaveProperty("reply_parameters");
    expect(await bench.status()).toMatchObject({
      lastHeartbeatText: "The build fails.",
      lastHeartbeatSentAt: bench.time,
    });
  });

  it("is not sent again with the same text within 24 hours, also with others in between", async () => {
    await begin("2026-05-05T00:00:00Z", {
      ...every("8h"),
      "agents.defaultHeartbeat.activeHours": { start: "00:00", end: "24:00" },
    });
    await bench.hear(textUpdate("hello", { from: { id: owner } }));
    bench.telegram.sent.length = 0;
    for (const text of ["A", "B", "A", "A", "A"]) {
      bench.reply = { text };
      await bench.beat();
    }
    expect(bench.sent).toEqual([`${owner}: A`, `${owner}: B`, `${owner}: A`]);
  });

  it("is tried again at the next beat when it could not be sent", async () => {
    await begin("2026-05-05T08:00:00Z");
    await bench.hear(textUpdate("hello", { from: { id: owner } }));
    bench.telegram.sent.length = 0;
    bench.telegram.fail("sendMessage", {
      status: 403,
      description: "Forbidden: bot was blocked by the user",
    });
    bench.reply = { text: "The build fails." };
    await bench.beat();
    expect(await bench.status()).toMatchObject({
      lastHeartbeatText: "The build fails.",
      lastHeartbeatSentAt: null,
    });
    await bench.beat();
    expect(bench.sent).toEqual([`${owner}: The build fails.`]);
  });

  it("that fails is reported once a day, whatever the reason", async () => {
    await begin("2026-05-05T08:00:00Z");
    await bench.hear(textUpdate("hello", { from: { id: owner } }));
    bench.telegram.sent.length = 0;
    for (const status of [401, 400]) {
      bench.reply = { error: { status } };
      await bench.beat();
    }
    expect(bench.sent).toHaveLength(1);
    expect(bench.sent[0]).toContain("Sorry, that failed");
    expect((await bench.status()).lastHeartbeatText).toMatch(/^Error: /);
  });

  it("goes nowhere with target none, and to the chat of a channel that is named", async () => {
    await begin("2026-05-05T08:00:00Z", { "agents.defaultHeartbeat.target": "none" });
    await bench.hear(textUpdate("hello", { from: { id: owner } }));
    bench.telegram.sent.length = 0;
    bench.reply = { text: "The build fails." };
    await bench.beat();
    expect(bench.sent).toEqual([]);
    await bench.call("config.set", { path: "agents.defaultHeartbeat.target", value: "slack" });
    await bench.beat();
    expect(bench.sent).toEqual([]);
    await bench.call("config.set", { path: "agents.defaultHeartbeat.target", value: "telegram" });
    await bench.beat();
    expect(bench.sent).toEqual([`${owner}: The build fails.`]);
  });

  it("never goes to a guest, a room, or who is no owner any more", async () => {
    await begin("2026-05-05T08:00:00Z", { "channels.telegram.requireMention": false });
    await bench.hear(textUpdate("hello", { from: { id: owner } }));
    await bench.hear(textUpdate("hello", { from: { id: 77 } }));
    bench.time += 2 * minute;
    await bench.hear(groupUpdate("hello"));
    expect((await bench.status()).lastActive).toMatchObject({ channel: "telegram", peer: { kind: "group" } });
    bench.telegram.sent.length = 0;
    bench.reply = { text: "The build fails." };
    await bench.beat();
    expect(bench.sent).toEqual([`${owner}: The build fails.`]);
    await bench.call("config.set", { path: "channels.telegram.owners", value: ["1"] });
    bench.reply = { text: "It still fails." };
    await bench.beat();
    expect(bench.sent).toHaveLength(1);
    expect((await bench.status()).lastHeartbeatText).toBe("It still fails.");
  });
});
