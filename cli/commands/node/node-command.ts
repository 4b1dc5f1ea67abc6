import { homedir, hostname } from "node:os";
import { resolve } from "node:path";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { untilSignal } from "../../app/signals.ts";
import { version } from "../../app/version.ts";
import { machineId } from "../../gateway/gateway-client.ts";
import { startNode } from "../../node/node-runtime.ts";

export const node: Action = async (context, { options }) => {
  const settings = await context.settings();
  const { url, token } = await context.address();
  const nodeId = text(options.id) ?? settings.nodeId ?? machineId(hostname());
  const chosen = text(options.workspace) ?? settings.workspace ?? ".";
  // The config file's value was not expanded by a shell.
  const workspace = resolve(context.terminal.cwd, chosen.replace(/^~(?=\/|$)/, homedir()));
  const say = (line: string) => context.note(line);
  const running = startNode({ url, token, nodeId, workspace, version, onLog: say });
  const signal = untilSignal();
  const ready = running.connection.open().then(
    () =>
      context.print(
        { nodeId, workspace, url },
        `node ${nodeId} lends ${workspace} to ${url}; Ctrl-C ends it`,
      ),
    () => undefined,
  );
  try {
    const error = await Promise.race([running.ended, signal.received]);
    if (error instanceof Error) throw error;
  } finally {
    signal.dispose();
    await running.stop();
    await ready;
  }
};
