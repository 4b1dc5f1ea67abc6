import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentHeartbeat } from "../../../../shared/protocol/agent-heartbeat.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const run = (...args: string[]) =>
  gsv(["heartbeat", ...args], { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const lastRequest = () => gateway.requests.at(-1);

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

const off: AgentHeartbeat = {
  agentId: "main",
  nextHeartbeatAt: null,
  lastHeartbeatAt: null,
  lastHeartbeatText: null,
  lastHeartbeatSentAt: null,
  on: false,
  everyMs: 9_000_000,
  activeHours: { start: "08:00", end: "23:00", timezone: "Europe/Berlin" },
  target: "last",
};
const day = Date.UTC(2026, 4, 5, 12);
const on: AgentHeartbeat = {
  ...off,
  agentId: "work",
  on: true,
  nextHeartbeatAt: day,
  lastHeartbeatAt: day,
  lastHeartbeatText: `The build fails. ${"x".repeat(1000)}`,
  lastHeartbeatSentAt: day,
  target: "telegram",
  lastSkippedAt: day,
  lastSkipReason: "empty_heartbeat_file",
  lastActive: { channel: "telegram", accountId: "default", peer: { kind: "dm", id: "7" }, timestamp: day },
};

describe("gsv heartbeat", () => {
  it("shows for each agent whether it is on, its next beat, and its last answer", async () => {
    gateway.methods = { "heartbeat.status": () => ({ agents: { main: off, work: on } }) };
    const { stdout } = await run("status");
    const [first = "", second = ""] = stdout.split("\n\n");
    expect(first).toMatch(
      /^heartbeat +off; `gsv heartbeat start` turns it on, every 2h30m from 08:00 to 23:00/m,
    );
    expect(first).not.toMatch(/^(next|costs)/m);
    expect(second).toMatch(/^heartbeat +on, every 2h30m from 08:00 to 23:00 \(Europe\/Berlin\)$/m);
    expect(second).toMatch(/^tells +an owner, on telegram$/m);
    expect(second).toMatch(/^next +2026-05-05 /m);
    expect(second).toMatch(/^last answer +2026-05-05 .*: The build fails\. x{283} …$/m);
    expect(second).toMatch(/^last skipped +2026-05-05 .*: HEARTBEAT.md contains only headings and comments/m);
    expect(second).toMatch(/^last channel +telegram, 2026-05-05/m);
  });

  it.each([
    ["30m", 30, "08:00", "23:00", "900 model calls a month: $11 or more"],
    ["2h30m", 150, "22:00", "06:00", "96 model calls a month: $1 or more"],
    ["a minute, all day", 1, "00:00", "00:00", "43200 model calls a month: $518 or more"],
    ["10 hours", 600, "08:00", "10:00", "30 model calls a month: $0.36 or more"],
    ["two days", 2880, "08:00", "10:00", "15 model calls a month: $0.18 or more"],
  ])("says what a month costs when it is turned on: %s", async (_, minutes, start, end, costs) => {
    const hours = { everyMs: minutes * 60_000, activeHours: { ...on.activeHours, start, end } };
    const agents = { work: { ...on, ...hours } };
    gateway.methods = { "heartbeat.start": () => ({ message: "Heartbeat on for work.", agents }) };
    expect((await run("start", "work")).stdout).toContain(
      `\ncosts         up to ${costs} at $3 for a million tokens; none while HEARTBEAT.md is empty\n`,
    );
  });

  it("turns the heartbeat of one agent or all agents on or off", async () => {
    gateway.methods = {
      "heartbeat.start": () => ({ message: "Heartbeat on for work.", agents: { work: on } }),
      "heartbeat.stop": () => ({ message: "Heartbeat off for main, work.", agents: {} }),
    };
    const started = await run("start", "work");
    expect(started.stdout).toMatch(/^Heartbeat on for work\.\n\nagent +work\n/);
    expect(lastRequest()).toMatchObject({ method: "heartbeat.start", params: { agentId: "work" } });
    const stopped = await run("stop");
    expect(stopped.stdout).toBe("Heartbeat off for main, work.\n");
    expect(lastRequest()).toMatchObject({ method: "heartbeat.stop", params: {} });
  });

  it("runs a heartbeat at once, and prints the gateway's answer with --json", async () => {
    const answer = { ok: true, message: "Asked main." };
    gateway.methods = { "heartbeat.trigger": () => answer };
    const { stdout } = await run("trigger", "--json");
    expect(JSON.parse(stdout)).toEqual(answer);
    expect((await run("trigger", "work")).stdout).toContain("Asked main.");
    expect(lastRequest()).toMatchObject({ params: { agentId: "work" } });
  });
});
