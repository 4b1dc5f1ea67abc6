import { afterAll, beforeAll, expect, it } from "vitest";
import type { Table } from "../../shared/world/world.ts";
import { immortal, type Life } from "../agent/bench.ts";
import { CommandBench } from "./command-bench.ts";

const commands = new CommandBench();
beforeAll(() => commands.start());
afterAll(() => commands.close());

/** The table of a process that dies: calls fail once so many were made, the last of them after it was carried out. */
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

/** The node sends a request until it is accepted. The first process that gets it dies after so many calls. */
async function sendUntilAccepted(life: Life, send: () => ReturnType<CommandBench["request"]>): Promise<void> {
  commands.redeploy(dying(commands.state.table, life));
  const first = await send().catch(() => undefined);
  commands.redeploy();
  if (!first?.ok) expect(await send()).toMatchObject({ ok: true, payload: { ok: true } });
}

const lifeOf = (calls: number): Life => ({ left: calls, calls: [] });

/** From the call to the answer to its end. One of the four processes dies after so many of its calls. */
async function flow(victim: number, calls: number, isEarly: boolean): Promise<Life> {
  const life = lifeOf(calls);
  const of = (process: number) => (process === victim ? life : immortal());
  await commands.reconnect();
  const callId = await commands.command();
  const end = commands.endOf(callId);
  const report = () => sendUntilAccepted(of(1), () => commands.request("node.exec.event", end));
  if (isEarly) await report();
  await sendUntilAccepted(of(0), () => commands.running(callId));
  await commands.work(of(2));
  if (!isEarly) {
    await commands.work();
    await report();
  }
  await commands.work(of(3));
  await commands.work();
  await commands.work();
  // An acknowledgement was lost: the node repeats what was accepted.
  await commands.request("node.exec.event", end);
  await commands.work();
  return life;
}

it("an event is told once, and answered once, whichever process dies between any two of its calls", async () => {
  let kills = 0;
  for (const isEarly of [false, true]) {
    // Which comes first, the result or the report, concerns the processes that take them.
    for (let victim = 0; victim < (isEarly ? 2 : 4); victim++) {
      for (let calls = 0; ; calls++) {
        const life = await flow(victim, calls, isEarly);
        const place = `process ${victim} killed after ${life.calls.length} calls (${life.calls.at(-1)}), early: ${isEarly}`;
        const texts = await commands.told();
        expect(texts, place).toEqual([expect.stringContaining("System event"), "so it ended"]);
        const { run, inbox } = await commands.bench.state(commands.sessionKey);
        expect({ run, inbox }, place).toEqual({ run: undefined, inbox: [] });
        if (life.left > 0) break;
        kills++;
      }
    }
  }
  expect(kills).toBeGreaterThanOrEqual(50);
});
