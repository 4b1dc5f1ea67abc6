import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { expireTools, type Timer } from "../../functions/timer/timer.ts";
import { type Message, textOf } from "../../shared/protocol/messages.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { listTransfers } from "../../shared/transfer/transfer-state.ts";
import type { TimerEvent } from "../../shared/world/world.ts";
import { type Bench, immortal, Killed, openBench } from "../agent/bench.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../support/models/scripted-model.ts";
import { nodeParams } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { type Machine, openTransferBench, type TransferBench } from "./transfer-bench.ts";

let machines: TransferBench;
let bench: Bench;
let model: ModelServer;
let laptop: Machine;
let pi: Machine;
let replies: Reply[] = [];
let timeouts: Extract<TimerEvent, { kind: "tool-timeout" }>[] = [];
let sessionKey: string;
let sessions = 0;

beforeAll(async () => {
  machines = await openTransferBench();
  model = await startOpenAiServer(async () => replies.shift() ?? { text: "done" });
  bench = openBench(machines.state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  [laptop, pi] = [await machines.node("laptop"), await machines.node("pi")];
});
beforeEach(async () => {
  sessionKey = `agent:main:t${++sessions}`;
  timeouts = [];
  await laptop.start();
  await pi.start();
  await laptop.write("a.txt", Buffer.from("content"));
});
afterAll(async () => {
  await machines.close();
  await model.close();
});

const pass = (ms: number) => {
  bench.later += ms;
  machines.world.clock.later += ms;
};
const copy = (source: string, destination: string): Reply => ({
  toolCalls: [{ name: "gsv__Transfer", arguments: { source, destination } }],
});
const waits = async () => ((await bench.state(sessionKey)).run?.pendingCount ?? 0) > 0;
const results = (messages: readonly Message[]) =>
  messages.filter(({ role }) => role === "toolResult").map(textOf);
const partials = async () => (await pi.files()).filter((file) => file.endsWith(".gsv-part"));

/** Waits until neither machine has anything under way, nor an event on its way to it. */
async function machinesRest(): Promise<void> {
  for (let quiet = 0; quiet < 10; quiet++) {
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([laptop.settled(), pi.settled()]);
  }
}

/** Invokes the agent once; the next time comes when its lease has run out. */
async function invoke(life = immortal()): Promise<void> {
  const agent = {
    ...bench.agent(life),
    sockets: machines.world.sockets,
    schedules: {
      async once(_: string, __: number, event: TimerEvent) {
        if (event.kind === "tool-timeout") timeouts.push(event);
      },
    },
  };
  try {
    await holdSession(agent, sessionKey, () => 900_000);
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  } finally {
    pass(31_000);
  }
}

async function ask(reply: Reply, life = immortal()): Promise<void> {
  replies = [reply];
  await bench.submit(sessionKey, {
    id: "run",
    at: 1,
    origin: { kind: "client" },
    kind: "message",
    text: "go",
  });
  await invoke(life);
}

describe("gsv__Transfer", () => {
  it("waits for the machines without the agent, and tells what was copied", async () => {
    await ask(copy("laptop:a.txt", "pi:b.txt"));
    await until(async () => !(await waits()), "the transfer ends");
    expect(await pi.read("b.txt")).toEqual(Buffer.from("content"));
    await invoke();
    expect(results(await bench.live(sessionKey))).toEqual([
      '{"ok":true,"result":{"source":"laptop:a.txt","destination":"pi:b.txt","bytesTransferred":7}}',
    ]);
  });

  it("copies within the workspace, and between it and a machine", async () => {
    await machines.bucket.put("agents/main/x.txt", "of the workspace");
    for (const [source, destination] of [
      ["gsv:x.txt", "gsv:copies/x.txt"],
      ["gsv:copies/x.txt", "pi:x.txt"],
      ["pi:x.txt", "gsv:back.txt"],
    ] as const) {
      sessionKey = `agent:main:t${++sessions}`;
      await ask(copy(source, destination));
      await until(async () => !(await waits()), "the transfer ends");
    }
    expect(machines.bucket.peek("agents/main/back.txt")).toBe("of the workspace");
  });

  it("is not timed out as a tool while it goes on, but ten minutes after it has stopped to", async () => {
    await pi.start({ left: 3 });
    await ask(copy("laptop:a.txt", "pi:late.txt"));
    await until(() => pi.isKilled(), "the destination is killed");
    pass(120_000);
    const { world, state } = machines;
    const timer = { ...world.outside, table: state.table, now: world.now } as unknown as Timer;
    for (const event of timeouts.slice(0, 1)) await expireTools(timer, event);
    expect(await waits()).toBe(true);
    pass(600_000);
    for (const event of timeouts) await expireTools(timer, event);
    expect(await waits()).toBe(false);
    await invoke();
    expect(results(await bench.live(sessionKey))[0]).toContain("did not answer in time");
    await pi.start();
    await until(async () => (await partials()).length === 0, "the machine drops what it has");
    expect(await pi.files()).not.toContain("late.txt");
  });

  it("tells at once why it cannot be, and sends nothing to a node that cannot transfer", async () => {
    const { token } = await machines.world.token(["node"]);
    const socket = machines.world.start();
    await socket.open("old-1", token);
    await socket.request("old-1", "connect", nodeParams("old", ["probe"]));
    const errors = [
      [
        copy("old:/x", "pi:x"),
        'the node old cannot transfer files: it did not announce the capability "transfer"',
      ],
      [copy("laptop:a.txt", "old:/x"), "the node old cannot transfer files"],
      [copy("gone:/x", "pi:x"), "node not connected: gone"],
      [copy("a.txt", "pi:x"), "source: expected {nodeId}:/path or gsv:path"],
      [copy("gsv:none.txt", "pi:x"), "workspace file not found: none.txt"],
    ] as const;
    for (const [reply, error] of errors) {
      sessionKey = `agent:main:t${++sessions}`;
      await ask(reply);
      if (await bench.state(sessionKey).then(({ run }) => run !== undefined)) await invoke();
      expect(results(await bench.live(sessionKey))[0]).toContain(error);
    }
    expect(machines.world.events("old-1")).toEqual([]);
  });

  it("ends with the next part when its run is stopped", async () => {
    await pi.start({ left: 3 });
    await ask(copy("laptop:a.txt", "pi:stopped.txt"));
    await until(() => pi.isKilled(), "the destination is killed");
    await requestStop(machines.state.table, sessionKey, "stop", Date.now());
    await pi.start();
    await until(async () => (await partials()).length === 0, "the machine drops what it has");
    expect(await pi.files()).not.toContain("stopped.txt");
    const all = await listTransfers(machines.state.table, machines.world.now());
    expect(all.filter(({ error }) => error === "stopped")).toHaveLength(1);
  });

  it("that nobody waits for ends when either machine connects, whosever turn it is", async () => {
    await pi.start({ left: 3 });
    await ask(copy("laptop:a.txt", "pi:unwanted.txt"));
    await until(() => pi.isKilled(), "the destination is killed");
    await requestStop(machines.state.table, sessionKey, "stop", Date.now());
    await laptop.start();
    const all = await listTransfers(machines.state.table, machines.world.now());
    const mine = all.find(({ owner }) => owner.kind === "call" && owner.address.sessionKey === sessionKey);
    expect(mine).toMatchObject({ step: "failed", error: "stopped" });
  });

  it("is one transfer, whose end is reported once, wherever the agent is killed", async () => {
    const count = async () => (await listTransfers(machines.state.table, machines.world.now())).length;
    let [kills, told] = [0, 0];
    for (let left = 0; ; left++) {
      sessionKey = `agent:main:t${++sessions}`;
      const before = await count();
      const life = { left, calls: [] };
      await ask(copy("laptop:a.txt", `pi:killed-${left}.txt`), life);
      replies = [];
      for (let again = 0; again < 8 && (await bench.state(sessionKey)).run; again++) {
        await machinesRest();
        await invoke();
      }
      const messages = await bench.live(sessionKey);
      if (results(messages).length > 0) {
        told++;
        expect(results(messages)).toEqual([expect.stringContaining('"bytesTransferred":7')]);
        expect(await count()).toBe(before + 1);
        expect(await pi.read(`killed-${left}.txt`)).toEqual(Buffer.from("content"));
      }
      if (life.left > 0) break;
      kills++;
    }
    expect(kills).toBeGreaterThan(10);
    expect(told).toBeGreaterThan(5);
  });
});
