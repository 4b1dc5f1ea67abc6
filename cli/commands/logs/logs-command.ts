import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import { text, wholeNumber } from "../../app/options.ts";
import { untilSignal } from "../../app/process/signals.ts";
import type { Action } from "../../app/program.ts";
import { showGatewayLogs } from "./gateway-logs.ts";
import { followNodeLog } from "./node-log.ts";

/** Options that only the log of a gateway on AWS has. */
const gatewayOptions = ["function", "since", "stage", "profile", "region"];

export const logs: Action = async (context, { options }) => {
  const lines = wholeNumber("--lines", options.lines, 1, 5000);
  if (options.gateway === true) {
    if (options.node !== undefined) throw usage("--gateway and --node are two logs; ask for one");
    const show = (ended?: Promise<unknown>) => showGatewayLogs(context, options, lines ?? 100, ended);
    return options.follow === true ? untilInterrupted(show) : show();
  }
  const stray = gatewayOptions.find((name) => options[name] !== undefined);
  if (stray !== undefined) throw usage(`--${stray} is about the gateway's log: add --gateway`);
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
  if (answer.truncated) context.note(`(${answer.nodeId}: older lines left out)`);
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
