import { setTimeout as sleep } from "node:timers/promises";
import { code } from "../../../shared/protocol/errors.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import { text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { untilSignal } from "../../app/signals.ts";
import { RequestError } from "../../gateway/request-error.ts";
import { showGatewayLogs } from "./gateway-logs.ts";

/** Options that apply only to the log of a gateway on AWS. */
const gatewayOptions = ["function", "since", "stage", "profile", "region"];

export const logs: Action = async (context, { options }) => {
  const lines = wholeNumber("--lines", options.lines, 1, 5000);
  const run = text(options.run);
  if (run !== undefined) {
    const stray = ["node", "lines"].find((name) => options[name] !== undefined);
    if (stray !== undefined) throw usage(`--run prints all lines of one run; omit --${stray}`);
    // It loads the AWS SDK.
    const { showRunLogs } = await import("./run-logs.ts");
    const show = (ended?: Promise<unknown>) => showRunLogs(context, options, run, ended);
    return options.follow === true ? untilInterrupted(show) : show();
  }
  if (options.gateway === true) {
    if (options.node !== undefined) throw usage("--gateway and --node are different logs; choose one");
    const show = (ended?: Promise<unknown>) => showGatewayLogs(context, options, lines ?? 100, ended);
    return options.follow === true ? untilInterrupted(show) : show();
  }
  const stray = gatewayOptions.find((name) => options[name] !== undefined);
  if (stray !== undefined) throw usage(`--${stray} needs --gateway or --run`);
  const wanted = { nodeId: text(options.node), lines };
  if (options.follow === true) return untilInterrupted((ended) => followNodeLog(context, wanted, ended));
  await showNodeLog(context, wanted);
};

async function showNodeLog(
  context: Context,
  wanted: { nodeId: string | undefined; lines: number | undefined },
): Promise<void> {
  const gateway = await context.gateway();
  const answer = await gateway.request("logs.get", wanted);
  if (answer.truncated) context.note(`(${answer.nodeId}: older lines omitted)`);
  context.print(answer, answer.lines.join("\n"));
}

async function untilInterrupted(follow: (ended: Promise<unknown>) => Promise<void>): Promise<void> {
  const signal = untilSignal();
  try {
    await follow(signal.received);
  } finally {
    signal.dispose();
  }
}

/** Interval between requests for new lines, in milliseconds. */
const askEveryMs = 2000;

/** Number of lines per request. If more arrive between two requests, the oldest are lost. */
const askedLines = 1000;

/**
 * Prints the newest lines of a node's log, then new lines until `ended` resolves. Polls the node, because nodes do not
 * push their log. Waits while the node is away.
 * @throws RequestError of the first request, and of a later one that is not temporary
 */
export async function followNodeLog(
  context: Context,
  { nodeId, lines = 100 }: { nodeId: string | undefined; lines: number | undefined },
  ended: Promise<unknown>,
  everyMs = askEveryMs,
): Promise<void> {
  const gateway = await context.gateway();
  const first = await gateway.request("logs.get", { nodeId, lines });
  const node = first.nodeId;
  const print = (some: readonly string[]) => {
    for (const line of some) context.print({ nodeId: node, line }, line);
  };
  print(first.lines);
  let seen = first.lines;
  let isAway = false;
  let isOver = false;
  const over = ended.then(() => {
    isOver = true;
  });
  for (;;) {
    await Promise.race([sleep(everyMs, undefined, { ref: true }), over]);
    if (isOver) return;
    try {
      const next = await gateway.request("logs.get", { nodeId: node, lines: askedLines });
      if (isAway) context.note(`gsv: the node ${node} is back`);
      isAway = false;
      print(linesAfter(seen, next.lines));
      seen = next.lines;
    } catch (error) {
      if (!(error instanceof RequestError && isTemporary(error))) throw error;
      if (!isAway) context.note(`gsv: the node ${node} does not answer (${error.message}); waiting for it`);
      isAway = true;
    }
  }
}

function isTemporary(error: RequestError): boolean {
  return error.retryable || error.code === code.unavailable || error.code === code.notConnected;
}

/** The lines of `next` after those in `seen`; all lines when none of them was seen. */
export function linesAfter(seen: readonly string[], next: readonly string[]): string[] {
  for (let end = next.length; end > 0; end--) {
    const length = Math.min(end, seen.length);
    if (length === 0) break;
    const [known, again] = [seen.slice(-length), next.slice(end - length, end)];
    if (again.every((line, index) => line === known[index])) return next.slice(end);
  }
  return [...next];
}
