import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { textUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { HeartbeatBench, minute, owner } from "./heartbeat-bench.ts";

const bench = new HeartbeatBench();
beforeAll(() => bench.open());
beforeEach(() => bench.renew("2026-05-05T08:00:00Z"));
afterAll(() => bench.close());

const at = (time: string) => Date.parse(`2026-05-05T${time}:00Z`);
const set = (path: string, value: unknown) => bench.call("config.set", { path, value });

describe("the heartbeat of a new gateway", () => {
  it("is off: nothing is scheduled, and the status says so", async () => {
    expect(await bench.call("heartbeat.status")).toEqual({
      agents: {
        main: {
          agentId: "main",
          nextHeartbeatAt: null,
          lastHeartbeatAt: null,
          lastHeartbeatText: null,
          lastHeartbeatSentAt: null,
          on: false,
          everyMs: 30 * minute,
          activeHours: { start: "08:00", end: "23:00", timezone: "UTC" },
          target: "last",
        },
      },
    });
    expect(bench.pending).toEqual([]);
  });

  describe("and the first-run ceremony", () => {
    const sessionKey = "agent:main:main";
    /** The agent deletes a file as it is asked to. */
    const remove = async (path: string) => {
      const replies = [{ toolCalls: [{ name: "gsv__DeleteFile", arguments: { path } }] }, { text: "done" }];
      bench.script = () => replies.shift() ?? { text: "done" };
      await bench.call("chat.send", { sessionKey, message: "that is all" });
      await bench.runAgents();
      bench.script = undefined;
      return bench.model.requests.at(-1)?.turns.at(-1)?.text ?? "";
    };

    it("is turned on when the agent deletes BOOTSTRAP.md, and the model reads what that means", async () => {
      await bench.call("agent.init");
      const result = await remove("BOOTSTRAP.md");
      expect(result).toContain("every 30 minutes from 08:00 to 23:00 (UTC)");
      expect(await bench.status()).toMatchObject({ on: true, nextHeartbeatAt: at("08:30") });
      // The files of a new agent ask for nothing.
      await bench.beat();
      expect((await bench.status()).lastSkipReason).toBe("empty_heartbeat_file");
    });

    it("stays off when there was no BOOTSTRAP.md, or the user had turned it off", async () => {
      expect(await remove("BOOTSTRAP.md")).toContain("not found");
      expect((await bench.status()).on).toBe(false);
      await bench.call("agent.init");
      await bench.call("heartbeat.stop");
      expect(await remove("BOOTSTRAP.md")).not.toContain("heartbeat");
      expect((await bench.status()).on).toBe(false);
      expect(bench.pending.filter(({ event }) => event.kind === "heartbeat")).toEqual([]);
    });
  });
});

describe("heartbeat.start and heartbeat.stop", () => {
  it("plan the first beat after an interval, and leave it when repeated", async () => {
    const { message, agents } = await bench.call("heartbeat.start");
    expect(message).toBe("Heartbeat on for main.");
    expect(agents.main).toMatchObject({ on: true, nextHeartbeatAt: at("08:30") });
    bench.time += 10 * minute;
    await bench.call("heartbeat.start");
    expect(bench.pending).toHaveLength(1);
  });

  it("take one agent or all of them, and refuse an unknown one", async () => {
    await set("agents.list", [
      { id: "work", heartbeat: { every: "1h" } },
      { id: "quiet", heartbeat: { every: "0" } },
    ]);
    const { message } = await bench.call("heartbeat.start");
    expect(message).toBe(
      "Heartbeat on for main, work. Switched off in the configuration (every is 0): quiet.",
    );
    const { agents } = await bench.call("heartbeat.stop", { agentId: "main" });
    const next = Object.fromEntries(Object.entries(agents).map(([id, one]) => [id, one.nextHeartbeatAt]));
    expect(next).toEqual({ main: null, work: at("09:00"), quiet: null });
    await expect(bench.call("heartbeat.start", { agentId: "mian" })).rejects.toThrow(
      "there is no agent mian; add it to agents.list, or choose one of main, work, quiet",
    );
    await expect(bench.call("heartbeat.trigger", { agentId: "mian" })).rejects.toThrow('"code":404');
  });

  it("leave nothing running: a schedule that was made fires for nothing", async () => {
    await bench.write("HEARTBEAT.md", "Read the news.");
    await bench.call("heartbeat.start");
    await bench.call("heartbeat.stop");
    await bench.beat();
    await bench.pass(5);
    expect(bench.model.requests).toEqual([]);
    expect(bench.pending).toEqual([]);
  });
});

describe("a change of the configuration", () => {
  it("plans the next beat again, by the new interval, hours and timezone", async () => {
    await bench.call("heartbeat.start");
    await set("agents.defaultHeartbeat.every", "2h30m");
    expect((await bench.status()).nextHeartbeatAt).toBe(at("10:30"));
    await set("agents.defaultHeartbeat.activeHours.start", "12:00");
    expect((await bench.status()).nextHeartbeatAt).toBe(at("12:00"));
    await set("userTimezone", "Europe/Berlin");
    expect((await bench.status()).nextHeartbeatAt).toBe(at("10:30"));
    await set("agents.list", [{ id: "main", heartbeat: { every: "5m", activeHours: { start: "00:00" } } }]);
    expect((await bench.status()).nextHeartbeatAt).toBe(at("08:05"));
  });

  it("of anything else leaves it", async () => {
    await bench.call("heartbeat.start");
    await set("agents.defaultHeartbeat.prompt", "Anything?");
    await set("systemPrompt", "You are helpful.");
    expect(bench.pending).toHaveLength(1);
  });

  it("to 0 switches it off, and back to an interval on again", async () => {
    await bench.call("heartbeat.start");
    await set("agents.defaultHeartbeat.every", "0");
    expect(await bench.status()).toMatchObject({ on: true, everyMs: 0, nextHeartbeatAt: null });
    await bench.write("HEARTBEAT.md", "Read the news.");
    await bench.beat();
    expect(bench.model.requests).toEqual([]);
    await set("agents.defaultHeartbeat.every", "1h");
    // The clock went on to the beat that was no more.
    expect((await bench.status()).nextHeartbeatAt).toBe(at("09:30"));
  });
});

describe("heartbeat.trigger", () => {
  it("asks at any hour, without a file, and though the heartbeat is off", async () => {
    bench.time = at("03:00");
    const answer = await bench.call("heartbeat.trigger");
    expect(answer).toEqual({
      ok: true,
      message:
        "Asked main in agent:main:heartbeat:system:internal. Its report goes to no channel: no owner has written to this agent there in a direct message.",
    });
    await bench.runAgents();
    expect(bench.model.requests).toHaveLength(1);
    expect(await bench.status()).toMatchObject({ on: false, lastHeartbeatText: "HEARTBEAT_OK" });
  });

  it("may use what its owner may, and no long-term memory", async () => {
    await bench.write("USER.md", "ABOUT-THE-OWNER");
    await bench.write("MEMORY.md", "LONG-TERM");
    await bench.call("heartbeat.trigger");
    await bench.runAgents();
    const [request] = bench.model.requests;
    expect(request?.system).toContain("ABOUT-THE-OWNER");
    expect(request?.system).not.toContain("LONG-TERM");
    expect(request?.tools).toContain("gsv__Message");
  });
});

describe("the last active channel", () => {
  it("is kept per agent, by every message that is let in, commands included", async () => {
    await set("agents.list", [{ id: "work" }]);
    await set("agents.bindings", [{ agentId: "work", match: { peer: { id: "42" } } }]);
    await bench.hear(textUpdate("/status", { from: { id: owner } }));
    bench.time += minute;
    await bench.hear(textUpdate("hello", { from: { id: 42 } }));
    const active = (id: number, timestamp: number) => ({
      channel: "telegram",
      accountId: "default",
      peer: expect.objectContaining({ kind: "dm", id: String(id) }),
      timestamp,
    });
    expect((await bench.status()).lastActive).toEqual(active(owner, bench.time - minute));
    expect((await bench.status("work")).lastActive).toEqual(active(42, bench.time));
  });

  it("is not changed by a message that is not let in", async () => {
    await set("channels.telegram.dmPolicy", "allowlist");
    await bench.hear(textUpdate("hello", { from: { id: 42 } }));
    expect((await bench.status()).lastActive).toBeUndefined();
  });
});
