import { homedir, hostname } from "node:os";
import { resolve } from "node:path";
import type { Context } from "../../app/context.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { untilSignal } from "../../app/signals.ts";
import { version } from "../../app/version.ts";
import { machineId } from "../../gateway/gateway-client.ts";
import { startUnderFreeId } from "../../node/free-id.ts";
import { type RunningNode, startNode } from "../../node/node-runtime.ts";

export const node: Action = async (context, { options }) => {
  const settings = await context.settings();
  const { url, token } = await context.address();
  const chosenId = text(options.id);
  const nodeId = chosenId ?? settings.nodeId ?? machineId(hostname());
  const chosen = text(options.workspace) ?? settings.workspace ?? ".";
  // The config file's value was not expanded by a shell.
  const workspace = resolve(context.terminal.cwd, chosen.replace(/^~(?=\/|$)/, homedir()));
  const node = { url, token, nodeId, workspace, version, onLog: (line: string) => context.note(line) };
  const signal = untilSignal();
  try {
    const running = chosenId
      ? { ...startNode(node), nodeId }
      : await startUnderFreeId(node, (taken, next) => context.note(idTaken(taken, next)), signal.received);
    await untilEnded(context, running, { workspace, url }, signal.received);
  } finally {
    signal.dispose();
  }
};

/** Says that a node's id is in use, and which one is tried instead. */
export function idTaken(nodeId: string, next: string): string {
  return `gsv: a node with the id ${nodeId} is connected already; this one is ${next} (--id chooses another)`;
}

async function untilEnded(
  context: Context,
  { connection, ended, stop, nodeId }: RunningNode & { nodeId: string },
  place: { workspace: string; url: string },
  signalled: Promise<unknown>,
): Promise<void> {
  const told = { nodeId, ...place };
  const ready = connection.open().then(
    () => context.print(told, `node ${nodeId} lends ${place.workspace} to ${place.url}; Ctrl-C ends it`),
    () => undefined,
  );
  try {
    const error = await Promise.race([ended, signalled]);
    if (error instanceof Error) throw error;
  } finally {
    await stop();
    await ready;
  }
}
