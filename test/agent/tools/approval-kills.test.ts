import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { FileQueues } from "../../../cli/node/files/node-files.ts";
import { Outbox, type OutboxConnection } from "../../../cli/node/result-outbox.ts";
import { NodeCalls } from "../../../cli/node/running-calls.ts";
import { ShellSessions } from "../../../cli/node/shell/shell-sessions.ts";
import { nodeTools } from "../../../cli/node/tools/offered.ts";
import { listDecisions } from "../../../shared/approvals/decision-log.ts";
import { listRequests } from "../../../shared/approvals/requests.ts";
import type { Events } from "../../../shared/protocol/events.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import { decodeCallAddress } from "../../../shared/session/call-address.ts";
import { type CallOutcome, recordResult } from "../../../shared/session/calls.ts";
import type { Origin } from "../../../shared/session/inbox-entry.ts";
import { needsAgent } from "../../../shared/session/state.ts";
import { newFolder } from "../../support/run/test-folders.ts";
import { immortal, Killed, type Life } from "../bench.ts";
import {
  answer,
  framesFor,
  invoke,
  now,
  on,
  openHere,
  otherSession,
  read,
  runOf,
  say,
  useApprovalBench,
  write,
} from "./approval-bench.ts";

useApprovalBench();

const dm: Origin = { kind: "channel", channel: "telegram", accountId: "a", peer: { kind: "dm", id: "1" } };
const written = "agents/main/asked.md";

/** The real node `pi`: it runs commands, and hands over their results when it is asked for them. */
let node: NodeCalls;
const outcomes: { callId: string; outcome: CallOutcome }[] = [];
let ledger = "";
let taken = 0;

beforeAll(() => {
  const workspace = newFolder();
  ledger = join(workspace, "ledger");
  const connection = {
    state: { status: "connected" },
    onState: () => () => {},
    request: async (_: string, { callId, ...outcome }: { callId: string }) => {
      outcomes.push({ callId, outcome: outcome as CallOutcome });
      return { ok: true };
    },
  } as unknown as OutboxConnection;
  const context = {
    workspace,
    sessions: new ShellSessions(() => {}, process.env),
    files: new FileQueues(),
  };
  const around = {
    ...{ log: () => {}, onCall: () => {}, tools: () => nodeTools },
    ...{ prepare: async () => {}, extend: async <R>(result: R) => result },
  };
  node = new NodeCalls(context, new Outbox(connection, () => {}), around, () => 100_000);
});

/** A command that leaves a line of its own in the node's ledger each time it runs. */
const command = () => ({
  name: "pi__Bash",
  arguments: { command: `echo ${on.sessionKey} >> ledger` },
});
/** How often the node has run the session's command, by its own ledger. */
const runs = async () =>
  (await readFile(ledger, "utf8").catch(() => "")).split("\n").filter((line) => line === on.sessionKey)
    .length;

/** Runs what was sent to the node, and stores the results. */
async function nodeWorks(): Promise<void> {
  const sent = framesFor("pi-1", "tool.invoke").slice(taken);
  taken += sent.length;
  for (const payload of sent) node.invoke(payload as unknown as Events["tool.invoke"]);
  await node.settled(60_000);
  for (const { callId, outcome } of outcomes.splice(0)) {
    const address = decodeCallAddress(callId)!;
    const recorded = await recordResult({ ...on.state }, address, "pi", outcome, now());
    expect(["recorded", "dropped"]).toContain(recorded.status);
  }
}

/** An invocation, and the repeat of it that Lambda makes if it died. */
async function invokeUntilDone(life: Life): Promise<void> {
  await invoke(life);
  if (life.left <= 0) await invoke();
}

type Call = { name: string; arguments: Record<string, unknown> };

/** The calls of a turn's reply, the answer to each request, and how often the node's command runs. */
interface Turn {
  calls: () => Call[];
  decision: "allow" | "deny";
  expected: number;
}

const turns: [string, Turn][] = [
  ["a command", { calls: () => [command()], decision: "allow", expected: 1 }],
  ["two equal commands", { calls: () => [command(), command()], decision: "allow", expected: 2 }],
  ["beside a call that needs no answer", { calls: () => [command(), read], decision: "allow", expected: 1 }],
  ["a denied command", { calls: () => [command()], decision: "deny", expected: 0 }],
  ["a tool of the gateway", { calls: () => [write], decision: "allow", expected: 0 }],
  [
    "a command and a tool of the gateway",
    { calls: () => [command(), write], decision: "allow", expected: 1 },
  ],
];

/** The invocation that asks, the answer, the invocation that acts on it, and the one after the node's results. */
const parts = ["ask", "answer", "run", "end"] as const;
type LifeOf = (part: (typeof parts)[number]) => Life;
let kills = 0;

describe("a kill at any call between question, answer, commit, dispatch and end", () => {
  it.each(turns)("loses no request, doubles no message and runs nothing twice: %s", async (_, turn) => {
    for (const part of parts)
      for (let left = 0; ; left++) {
        const life: Life = { left, calls: [] };
        const at = `${part} ${left}`;
        const asked = await ask(turn, at, (one) => (one === part ? life : immortal()));
        await finish(turn, at, asked, (one) => (one === part ? life : immortal()));
        if (life.left > 0) break;
        kills++;
      }
  });

  it("was tried at three hundred calls", () => {
    expect(kills).toBeGreaterThanOrEqual(300);
  });
});

/** Asks, whatever dies meanwhile. @returns the ids of the open requests */
async function ask({ calls }: Turn, at: string, lifeOf: LifeOf): Promise<string[]> {
  otherSession();
  Object.assign(on, { sent: [], replies: [{ toolCalls: calls() }] });
  on.bench.posted.length = 0;
  // The node's registration lasts for hours.
  on.bench.later = 0;
  taken = 0;
  await on.state.bucket.delete(written);
  await say("go", { origin: dm });
  const life = lifeOf("ask");
  await invoke(life);
  if (life.left <= 0) {
    // The model is asked again, if its reply was not committed.
    if ((await runOf())?.phase !== "tools") on.replies = [{ toolCalls: calls() }];
    await invoke();
  }
  await nodeWorks();
  const open = await openHere();
  const tools = calls().flatMap(({ name }) => (name === read.name ? [] : [name]));
  expect([at, open.map(({ tool }) => tool).sort()]).toEqual([at, [...new Set(tools)].sort()]);
  expect([at, await runs(), await hasWritten()]).toEqual([at, 0, false]);
  return open.map(({ id }) => id);
}

/** Answers and carries out what follows, whatever dies meanwhile. */
async function finish({ calls, decision, expected }: Turn, at: string, asked: string[], lifeOf: LifeOf) {
  const answering = lifeOf("answer");
  for (const id of asked) {
    await answer(decision, { id, life: answering }).catch((error) => expect(error).toBeInstanceOf(Killed));
    // A client sends a request again that got no response.
    expect(["answered", "already"]).toContain((await answer(decision, { id })).status);
  }
  await invokeUntilDone(lifeOf("run"));
  await nodeWorks();
  if (needsAgent(await on.bench.state(on.sessionKey), now())) await invokeUntilDone(lifeOf("end"));
  const isWritten = decision === "allow" && calls().some(({ name }) => name === write.name);
  expect([at, await runs(), await hasWritten(), await runOf()]).toEqual([at, expected, isWritten, undefined]);
  const live = await on.bench.live(on.sessionKey);
  const roles = live.map(({ role }) => role);
  expect(roles).toEqual(["user", "assistant", ...calls().map(() => "toolResult"), "assistant"]);
  expect(textOf(live.at(-1)!)).toBe("done");
  const ended = await listRequests(on.state.table, now(), 5, on.sessionKey);
  const state = decision === "allow" ? "allowed" : "denied";
  expect([at, ended.map((one) => one.state)]).toEqual([at, asked.map(() => state)]);
  const logged = await listDecisions(on.state.table, now(), 5, on.sessionKey);
  const decided = calls().map(({ name }) => (name === read.name ? ["allow"] : ["ask", decision]));
  expect([at, logged.map((one) => [one.decision, ...(one.answer ? [one.answer.decision] : [])])]).toEqual([
    ...[at, decided],
  ]);
  // A channel delivers an id once.
  const heard = [...new Map(on.sent.map(({ id, text }) => [id, text.split("?")[0]])).values()];
  expect([at, heard.sort()]).toEqual([at, [...questions(calls()), "done"]]);
}

const hasWritten = async () => (await on.state.bucket.get(written)) !== undefined;

const questions = (calls: Call[]) =>
  [...new Set(calls.flatMap(({ name }) => (name === read.name ? [] : [`May I use ${name}`])))].sort();
