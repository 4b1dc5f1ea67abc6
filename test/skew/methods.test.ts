import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Method, methods } from "../../shared/protocol/methods.ts";
import { openBridge } from "../support/bridge.ts";
import { isReading } from "../support/models/model-window.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { openClient, openNode } from "../support/peer.ts";
import { callMethod, finalReads, methodCalls, type Peers, prepare } from "./method-calls.ts";
import { otherThan, startTwoVersions, type TwoVersions, type Version, versions } from "./two-versions.ts";

const toolOf: Record<string, string> = { "run it": "Bash", wait: "Wait", background: "Background" };

let model: ModelServer;
beforeAll(async () => {
  model = await startOpenAiServer((request) => {
    const last = request.turns.at(-1)!;
    if (isReading(request)) return { text: "<summary>so far</summary><memories>- likes tea</memories>" };
    const tool = last.role === "user" ? toolOf[last.text] : undefined;
    if (tool === undefined) return { text: "hello to you" };
    return { toolCalls: [{ id: `call_${request.turns.length}`, name: `laptop__${tool}`, arguments: {} }] };
  });
});
afterAll(() => model?.close());

async function connect(both: TwoVersions): Promise<Peers> {
  const { ws: url } = both.cloud;
  const owner = await openClient(url, both.token);
  const settings: [string, unknown][] = [
    ["model", { provider: "openai-compatible", id: "m", baseUrl: model.url }],
    ["session.defaultResetPolicy", { mode: "manual" }],
    ["timeouts.toolMs", 3_600_000],
    ["agents.defaultHeartbeat.every", "0m"],
    ["channels.ferry", { dmPolicy: "pairing", allowFrom: ["passenger"] }],
  ];
  for (const [path, value] of settings) await owner.call("config.set", { path, value });
  const ferry = { name: "ferry", scopes: ["channel"], channel: "ferry" };
  const { token } = await owner.call<{ token: string }>("token.create", ferry);
  const tools = {
    Bash: () => "done",
    Wait: () => undefined,
    Slow: () => undefined,
    Background: () => ({ status: "running", sessionId: "bg" }),
  };
  const laptop = await openNode(url, both.token, "laptop", tools, ["transfer"]);
  return { owner, laptop, bridge: await openBridge(url, token, "ferry"), url, token: both.token };
}

interface Outcomes {
  /** Of the reading version's calls over what the writing version has stored. */
  calls: Record<string, unknown>;
  /** Of the writing version's reads after these calls. */
  reads: Record<string, unknown>;
}

async function run(writing: Version, reading: Version): Promise<Outcomes> {
  const both = await startTwoVersions();
  try {
    both.use(writing);
    const peers = await connect(both);
    const facts = await prepare(peers);
    await both.settled();
    const outcomes = async (listed: readonly Method[]) => {
      const found: Record<string, unknown> = {};
      for (const method of listed) {
        found[method] = steady(await callMethod(method, facts, peers));
        await both.settled();
      }
      return found;
    };
    both.use(reading);
    const calls = await outcomes(Object.keys(methodCalls) as Method[]);
    both.use(writing);
    return { calls, reads: await outcomes(finalReads) };
  } finally {
    await both.close();
  }
}

const runs = new Map<string, Promise<Outcomes>>();

/** The outcomes of a run, which two tests compare. */
function outcomesOf(writing: Version, reading: Version): Promise<Outcomes> {
  const name = `${writing} ${reading}`;
  const begun = runs.get(name) ?? run(writing, reading);
  runs.set(name, begun);
  return begun;
}

/** Fields that the previous release passes on unread or does not write, and the state of an extraction, which it has not. */
/** Sums of all sessions, and the log of decisions, which only the present release records. */
const spending = ["all", "month", "used", "decisions"];
const ignored = [
  "cost",
  "unpriced",
  "extraction",
  "tail",
  "basis",
  "cached",
  "origins",
  "previous",
  ...spending,
];

/**
 * What two versions must have in common in an outcome: its fields, the numbers of its entries, small counts, and short texts
 * such as states and what was said. Ids, times, sizes and sentences differ.
 */
function steady(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) {
    const shapes = new Set(value.map((one) => JSON.stringify(steady(one))));
    return { length: value.length, shapes: [...shapes].sort() };
  }
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .sort()
        .flatMap(([key, one]) => (ignored.includes(key) ? [] : [[key, steady(one, key)]])),
    );
  if (typeof value === "number") return value < 10 && !/ms$/i.test(name) ? value : "number";
  if (typeof value !== "string") return value;
  return !/(id|token|url|sha|code|short)$/i.test(name) && /^\D{0,40}$/.test(value) ? value : "text";
}

describe.each(versions)("the %s release", (version) => {
  const other = otherThan(version);

  it("answers every method over the items of the other one as over its own", async () => {
    const own = await outcomesOf(version, version);
    expect(Object.keys(own.calls).sort()).toEqual([...methods].sort());
    expect((await outcomesOf(other, version)).calls).toEqual(own.calls);
  });

  it("reads its own items, after the other one has changed them, as if it had done that itself", async () => {
    const own = await outcomesOf(version, version);
    expect((await outcomesOf(version, other)).reads).toEqual(own.reads);
  });
});
