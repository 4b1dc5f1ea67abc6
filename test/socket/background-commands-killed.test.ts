import { beforeAll, expect, it } from "vitest";
import type { Table } from "../../shared/world/world.ts";
import { immortal, type Life } from "../agent/bench.ts";
import { CommandBench } from "./command-bench.ts";

const started = new CommandBench();
let callId = "";
beforeAll(async () => {
  await started.start();
  callId = await started.command();
});

/** The table of a process that dies: calls fail after this number, the last of them after it took effect. */
function dying(table: Table, life: Life): Table {
  return new Proxy(table, {
    get(of, method: string & keyof Table) {
      const call = of[method] as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        if (life.left <= 0) throw new Error("killed");
        life.left--;
        life.calls.push(method);
        const answer = await call.apply(of, args);
        if (life.left <= 0) throw new Error("killed");
        return answer;
      };
    },
  });
}

/** The node sends a request until it is accepted. The first process that gets it dies after this number of calls. */
async function sendUntilAccepted(
  commands: CommandBench,
  life: Life,
  send: () => ReturnType<CommandBench["request"]>,
): Promise<void> {
  commands.redeploy(dying(commands.state.table, life));
  const first = await send().catch(() => undefined);
  commands.redeploy();
  if (!first?.ok) expect(await send()).toMatchObject({ ok: true, payload: { ok: true } });
}

/** The work of a process that dies after some of its calls, and the work that follows. */
type Stage = (commands: CommandBench, life: Life) => Promise<void>;

const takeResult: Stage = (commands, life) =>
  sendUntilAccepted(commands, life, () => commands.running(callId));
const takeReport: Stage = (commands, life) =>
  sendUntilAccepted(commands, life, () => commands.request("node.exec.event", commands.endOf(callId)));
const goOn: Stage = async (commands, life) => {
  await commands.work(life);
};
const goOnTwice: Stage = async (commands, life) => {
  await commands.work(life);
  await commands.work();
};
const tell: Stage = async (commands, life) => {
  await goOnTwice(commands, life);
  await commands.work();
  // The acknowledgement was lost: the node repeats an accepted request.
  await commands.request("node.exec.event", commands.endOf(callId));
  await commands.work();
};

/** From the call to the answer to its end: the node's report arrives after the result, or before it. */
const flows: Record<string, Stage[]> = {
  late: [takeResult, goOnTwice, takeReport, tell],
  early: [takeReport, takeResult, goOn, tell],
};

/** Each of these processes dies in turn. The order of result and report matters only for those that accept them. */
const victims: Record<string, number> = { late: 4, early: 2 };

/** Kills the process of one stage after each of its calls in turn, each time over a copy of the state before. */
async function killAt(before: CommandBench, stages: readonly Stage[], named: string): Promise<number> {
  for (let calls = 0; ; calls++) {
    const commands = before.copy();
    const life: Life = { left: calls, calls: [] };
    for (const [index, stage] of stages.entries()) await stage(commands, index === 0 ? life : immortal());
    const place = `${named} killed after ${life.calls.length} calls (${life.calls.at(-1)})`;
    const texts = await commands.told();
    expect(texts, place).toEqual([expect.stringContaining("System event"), "so it ended"]);
    const { run, inbox } = await commands.bench.state(commands.sessionKey);
    expect({ run, inbox }, place).toEqual({ run: undefined, inbox: [] });
    if (life.left > 0) return calls;
  }
}

it("an event is reported once and answered once if any process dies between any two of its calls", async () => {
  let kills = 0;
  for (const [name, stages] of Object.entries(flows)) {
    const whole = started.copy();
    for (const [index, stage] of stages.slice(0, victims[name]).entries()) {
      kills += await killAt(whole, stages.slice(index), `process ${index} of the ${name} report`);
      await stage(whole, immortal());
    }
  }
  expect(kills).toBeGreaterThanOrEqual(50);
});
