import { randomBytes, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isFault } from "../../cli/commands/doctor/preflight.ts";
import type { Driver } from "../bench/driver.ts";
import { imageBytes } from "../support/images.ts";
import { openClient, openNode } from "../support/peer.ts";
import type { Gsv } from "./gsv.ts";
import type { IdleNode } from "./idle-node.ts";
import type { Deployed, Place } from "./place.ts";

/** A step of docs/first-hour.md. `number` is that of its heading. */
export interface Step {
  number: number;
  title: string;
  outcome: "passed" | "failed" | "skipped";
  /** What was seen. */
  detail: string;
  ms: number;
}

/** What a step does. Returns what it saw. @throws Error that says what is wrong; Skipped */
type Check = () => Promise<string>;

/** A step that cannot run in this place. */
export class Skipped extends Error {}

/** Runs a step. Its failure is an outcome. */
export async function runStep(number: number, title: string, check: Check): Promise<Step> {
  const started = performance.now();
  const end = (outcome: Step["outcome"], detail: string): Step => ({
    ...{ number, title, outcome, detail },
    ms: Math.round(performance.now() - started),
  });
  try {
    return end("passed", await check());
  } catch (error) {
    return end(error instanceof Skipped ? "skipped" : "failed", (error as Error).message);
  }
}

export async function checkQuotas({ preflight }: Place): Promise<string> {
  const findings = await preflight?.();
  if (findings === undefined) throw new Skipped("the emulators have no quotas");
  const faults = findings.filter(isFault);
  if (faults.length > 0) throw new Error(faults.map(({ found, todo }) => `${found} → ${todo}`).join("; "));
  return findings.map(({ found }) => found).join("; ");
}

export async function checkStatus(gsv: Gsv): Promise<string> {
  const { server, model, nodes, latencyMs } = await gsv("status");
  if (!Array.isArray(nodes) || nodes.length > 0) throw new Error(`there are nodes: ${nodes}`);
  return `version ${server}, model ${model}, no nodes, ${latencyMs} ms per request`;
}

/** Maximum time of the first answer, ms. */
const firstAnswerMs = 10_000;

export async function checkFirstAnswer(gsv: Gsv, { firstAnswer }: Deployed): Promise<string> {
  const started = performance.now();
  const { text } = await gsv("client", "hello");
  const ms = Math.round(performance.now() - started);
  if (text !== "done") throw new Error(`the scripted model's answer is "done", not ${JSON.stringify(text)}`);
  if (ms > firstAnswerMs) throw new Error(`the answer came after ${ms} ms: by the sweep?`);
  const { error, ms: took } = firstAnswer ?? {};
  const first = firstAnswer && `; the default model ${error ? `did not answer: ${error}` : `in ${took} ms`}`;
  return `answered in ${ms} ms${first ?? ""}`;
}

/** A sweep during the turns may find a session whose agent is about to start; after them, none is left. */
export async function checkSweep(place: Place): Promise<string> {
  const { overdue, alarms } = await place.watched();
  if (overdue.length === 0) throw new Error("no sweep has run");
  if (overdue.at(-1) !== 0) throw new Error(`overdue sessions: ${overdue.join(", ")}`);
  if (alarms?.some((state) => state !== "OK")) throw new Error(`the alarm's state is ${alarms.join(", ")}`);
  return `${overdue.length} sweeps, 0 overdue at the last, ${alarms ? "the alarm is OK" : "no alarm in the emulators"}`;
}

/** Calls the tool of a node that leaves without an answer. */
export async function checkLostNode({ url, token }: Deployed): Promise<string> {
  const client = await openClient(url, token, "account");
  const node = await openNode(url, token, "laptop", { Glob: () => undefined });
  const started = performance.now();
  try {
    const run = randomUUID();
    const ended = client.ended(run, 120_000);
    await client.call("chat.send", { sessionKey: "lost-node", message: `tool ${run}`, runId: run });
    await node.seen(() => node.calls[0], "the node has the call");
    await node.close();
    const { state, error } = await ended;
    if (state !== "final") throw new Error(`the run ended with ${state}: ${error}`);
    return `the call ended ${Math.round(performance.now() - started)} ms after its start`;
  } finally {
    await Promise.all([client.close(), node.close()]);
  }
}

/** Bytes of the sent photo: more than a message may have, less than the scripted model's function accepts. */
const photoBytes = 2_000_000;

export async function checkPhoto(gsv: Gsv, folder: string): Promise<string> {
  const file = join(folder, "photo.png");
  await writeFile(file, imageBytes("image/png", photoBytes));
  const { text } = await gsv("client", "--session", "photo", "--image", file, "image photo");
  if (Number(text) !== Math.ceil(photoBytes / 3) * 4)
    throw new Error(`the model received ${text} characters of the photo`);
  return `the model received ${photoBytes} bytes`;
}

export async function checkWebhook({ webhook }: Deployed): Promise<string> {
  const answers = await Promise.all([
    fetch(`${webhook}/health`),
    fetch(`${webhook}/telegram/none`, { method: "POST", body: randomBytes(8) }),
  ]);
  const [health, channel] = answers.map(({ status }) => status);
  if (health === 403) throw new Error("HTTP 403: does a policy forbid public function URLs?");
  if (health !== 200 || channel !== 503)
    throw new Error(`HTTP ${health} for /health, ${channel} for a channel`);
  return "the webhook's address is public, and refuses a channel that is not configured";
}

/** Waits until the node was idle for long enough. */
export async function checkIdleNode(gsv: Gsv, node: IdleNode, { idleMs }: Place): Promise<string> {
  await delay(Math.max(0, node.since + idleMs - Date.now()));
  const { nodes } = await gsv("status");
  if (!(nodes as string[]).includes("idle")) throw new Error(`the node is gone: ${node.output()}`);
  const connects = node.output().match(/connected/g)?.length ?? 0;
  if (connects > 1) throw new Error(`the node has connected ${connects} times: ${node.output()}`);
  const minutes = ((Date.now() - node.since) / 60_000).toFixed(1);
  return `connected for ${minutes} minutes; two hours were not tried`;
}

/** Sessions that answer at the same time: fewer than a new account's ten functions. */
const sessions = 4;

/** Has the gateway answer messages. @returns how many it answered, and the first failure */
export async function answerTurns(
  driver: Driver,
  turns: number,
  note: (answered: number) => void,
): Promise<{ answered: number; failure?: string }> {
  let [begun, answered] = [0, 0];
  let failure: string | undefined;
  const work = async (session: number) => {
    while (begun < turns) {
      begun++;
      try {
        await driver.turn(`account-${session}`, "plain");
        answered++;
        if (answered % 100 === 0) note(answered);
      } catch (error) {
        failure ??= (error as Error).message;
      }
    }
  };
  await Promise.all(Array.from({ length: sessions }, (_, session) => work(session)));
  return { answered, failure };
}
