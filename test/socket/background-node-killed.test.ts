import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { textOf } from "../../shared/protocol/messages.ts";
import { expireCalls } from "../../shared/session/calls.ts";
import { immortal, Killed, type Life } from "../agent/bench.ts";
import { CommandBench } from "./command-bench.ts";
import { type Cut, fakeSession, NodeProcess } from "./node-process.ts";

const started = new CommandBench();
let callId = "";
const base = mkdtempSync(join(tmpdir(), "gsv-node-killed-"));
beforeAll(async () => {
  await started.start();
  callId = await started.command();
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

let flows = 0;
const lifeOf = (left: number): Life => ({ left, calls: [] });

/** Runs the agent until it has nothing to do. A call that nobody answers reaches its deadline. */
async function workAll(commands: CommandBench): Promise<void> {
  const { state, sessionKey } = commands;
  for (let rounds = 0; rounds < 20; rounds++) {
    await commands.work();
    const { run, inbox } = await commands.bench.state(sessionKey);
    if (run === undefined && inbox.length === 0) return;
    if (run?.deadline !== undefined) await expireCalls(state.table, sessionKey, run, run.deadline);
  }
  throw new Error("the session does not come to rest");
}

/** A process of the node; undefined if it died at its start. */
function startProcess(
  commands: CommandBench,
  folder: string,
  life: Life,
  cut?: Cut,
): NodeProcess | undefined {
  try {
    return new NodeProcess(commands, folder, life, cut);
  } catch (error) {
    if (error instanceof Killed) return undefined;
    throw error;
  }
}

/**
 * A command from its call to the answer to its end. The node's first processes die after the given numbers of steps; the
 * last one is not killed.
 */
async function flow(steps: number, nextLives: readonly Life[], cut?: Cut): Promise<Life> {
  const folder = join(base, String(++flows));
  const commands = started.copy();
  const life = immortal();
  const first = startProcess(commands, folder, life, cut)!;
  first.connected();
  Object.assign(life, lifeOf(steps));
  const { session, end } = fakeSession(`command of ${callId}`);
  first.reports.follow(session, callId);
  const result = { status: "running", sessionId: session.sessionId, pid: 7 };
  first.outbox.add(callId, "tool.result", { callId, result });
  await first.settle();
  await commands.work();
  await end();
  await first.settle();
  for (const next of nextLives) await startProcess(commands, folder, next)?.settle();
  await workAll(commands);
  const place = [life, ...nextLives].map(({ calls, left }) => (left > 0 ? "lived" : calls.join(" ")));
  await expectOneReport(commands, life, place.join(" | then "));
  expect(
    readdirSync(folder).filter((name) => name.endsWith(".json")),
    place.join(" | then "),
  ).toEqual([]);
  return life;
}

/** The end of a command in the journal is reported once: as recorded, or as unknown. */
async function expectOneReport(commands: CommandBench, { calls }: Life, place: string): Promise<void> {
  const records = calls.filter((call) => call === "renameSync").length;
  const texts = await commands.told();
  if (records === 0) {
    expect(texts, place).toEqual([]);
    expect((await commands.messages()).map(textOf), place).not.toContainEqual(
      expect.stringContaining('"status":"running"'),
    );
    return;
  }
  const expected = records > 1 ? '"event":"finished","exitCode":0' : "is unknown; it may still be running";
  expect(texts, place).toEqual([expect.stringContaining(expected), "so it ended"]);
}

it("a command's end is reported once, wherever the node's process and the next one are killed", async () => {
  let kills = 0;
  const whole = await flow(Number.POSITIVE_INFINITY, [immortal()]);
  // It records the start, sends the call's result, records the end, and sends the end.
  expect(whole.calls.join(" ")).toBe(
    "mkdirSync writeFileSync renameSync send hear mkdirSync writeFileSync renameSync send hear mkdirSync rmSync",
  );
  for (let steps = 0; steps <= whole.calls.length; steps++) {
    await flow(steps, [immortal()]);
    kills++;
  }
  const [started, noted, sent] = [5, 8, 9];
  for (const steps of [started, noted, sent])
    for (let nextSteps = 0; ; nextSteps++) {
      const next = lifeOf(nextSteps);
      await flow(steps, [next, immortal()]);
      if (next.left > 0) break;
      kills += 2;
    }
  expect(kills).toBeGreaterThanOrEqual(50);
});

it.each([1, 2])(
  "a command's end is reported once if request %d, or its answer, is lost with the connection",
  async (request) => {
    for (const when of ["before", "after"] as const)
      await flow(Number.POSITIVE_INFINITY, [immortal()], { request, when });
  },
);
