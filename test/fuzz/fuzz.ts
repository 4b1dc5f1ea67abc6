import { readdir, readFile } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import { sendJson, serveLoopback } from "../../local/http/loopback.ts";
import { drawDelivery, forgedMark } from "./deliveries/draw-delivery.ts";
import { sendDelivery } from "./deliveries/send-delivery.ts";
import { drawFrame, type FrameCase } from "./frames/draw-frame.ts";
import { Lane } from "./frames/lane.ts";
import { type Mode, modes } from "./frames/rights.ts";
import { Report } from "./report.ts";
import { type Facts, settleIn, type Victim } from "./target/settle-in.ts";
import type { Target } from "./target/target.ts";

export interface FuzzOptions {
  seed: number;
  frames: number;
  deliveries: number;
  /** Runs only this case, to debug it: `frame:N` or `delivery:N`. */
  only?: { kind: "frame" | "delivery"; index: number };
  /** Maximum growth of the gateway's heap, in MB. */
  heapMb: number;
}

/** Attackers of each mode. Bridges of one account replace each other, so there is one. */
const lanesOf: Record<Mode, number> = { stranger: 4, client: 4, node: 4, bridge: 1 };

/** Deliveries in progress at the same time. */
const senders = 8;

/**
 * Attacks a gateway with frames and webhook deliveries, and then checks the victim.
 *
 * The victim is the owner: a conversation with a running tool call, workspace files, the configuration, secrets,
 * tokens, a connected client and a connected node. An attacker's rights depend on its mode.
 *
 * - A stranger has no token. No request may succeed.
 * - A node and a bridge have their own tokens. They may reach only what their own calls and messages need, and may not
 * receive the victim's texts.
 * - A client has a token with the scope `client`, which is the owner's key to sessions, files and nodes. So its frames
 * name the victim only to read, or to use a scope that the token lacks; otherwise they use the attacker's own agent,
 * sessions and node. The victim is what the token does not cover: configuration, secrets, tokens, pairing, and the
 * sessions and files that its frames do not name.
 * - A platform's user may write anything, except under a name on the owner's list of ids, because the signed body
 * proves the sender.
 *
 * Requests with a valid id must be answered, and never with 500.
 */
export async function fuzz(target: Target, options: FuzzOptions): Promise<Report> {
  const report = new Report();
  const platforms = await startPlatforms();
  const victim = await settleIn(target, platforms.origin);
  try {
    const before = await target.belongings();
    const heapBefore = (await target.vitals()).heapMb;
    await attack(target, options, victim.facts, report);
    await judge(target, report, before, victim);
    const { heapMb } = await target.vitals();
    if (heapMb - heapBefore > options.heapMb)
      report.violation("memory", undefined, `the heap grew from ${heapBefore} MB to ${heapMb} MB`);
  } finally {
    victim.close();
    await platforms.close();
  }
  return report;
}

/** Starts the platforms' APIs, which answer every call with success. */
function startPlatforms() {
  return serveLoopback((request, response) => {
    request.resume();
    const message = { message_id: 1 };
    const all = {
      ok: true,
      ts: "1.1",
      channel: "C1",
      id: "1",
      result: message,
      messages: [{ id: "wamid.1" }],
    };
    request.on("end", () => sendJson(response, 200, all));
  });
}

async function attack(target: Target, options: FuzzOptions, facts: Facts, report: Report): Promise<void> {
  const { seed, only } = options;
  const wanted = (kind: "frame" | "delivery", count: number) => {
    if (only) return only.kind === kind ? [only.index] : [];
    return Array.from({ length: count }, (_, index) => index);
  };
  const frames = wanted("frame", options.frames);
  const lanes = modes.flatMap((mode, place) => {
    const own = frames.filter((index) => index % modes.length === place);
    return Array.from({ length: lanesOf[mode] }, (_, number) => {
      const lane = new Lane(target.ws, facts, report, mode, `lane-${mode}-${number}`);
      const mine = own.filter((_index, at) => at % lanesOf[mode] === number);
      return lane.run(drawn(mine, (index) => drawFrame(seed, index, facts)));
    });
  });
  const agent = new Agent({ keepAlive: true, maxSockets: senders });
  const deliveries = wanted("delivery", options.deliveries);
  const posts = Array.from({ length: senders }, async (_, number) => {
    for (const index of deliveries.filter((_index, at) => at % senders === number)) {
      const one = drawDelivery(seed, index, facts, Math.floor(Date.now() / 1000));
      await sendDelivery(target.webhook, agent, one, report);
    }
  });
  await Promise.all([...lanes, ...posts]);
  agent.destroy();
}

function* drawn(indices: readonly number[], draw: (index: number) => FrameCase): Generator<FrameCase> {
  for (const index of indices) yield draw(index);
}

/** Checks the victim: unchanged, not asked for anything, and able to continue. */
async function judge(
  target: Target,
  report: Report,
  before: Record<string, string>,
  victim: Victim,
): Promise<void> {
  const ended = target.ended();
  if (ended !== undefined) return report.violation("ended", undefined, ended);
  const after = await target.belongings();
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (before[name] !== after[name]) report.violation("changed", undefined, name);
  if (victim.asked().length > 0) report.violation("node asked", undefined, victim.asked());
  if (!victim.isConnected()) report.violation("evicted", undefined, "a socket of the victim was closed");
  for (const file of await filesWith(target.dir, forgedMark))
    report.violation("stored", undefined, `${file} holds a text of a request that was not signed`);
  const { errors } = await target.vitals();
  for (const [event, { count, example }] of Object.entries(errors))
    report.violation(`logged ${event}`, undefined, `${count} times, such as ${example}`);
  await victim.finish().catch((error: Error) => report.violation("stuck", undefined, error.message));
}

async function filesWith(dir: string, mark: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found: string[] = [];
  for (const file of files) if ((await readFile(file)).includes(mark)) found.push(file);
  return found;
}
