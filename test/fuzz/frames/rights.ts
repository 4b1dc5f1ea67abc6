/** Senders of frames. `stranger`: a socket that has not connected. */
export const modes = ["stranger", "client", "node", "bridge"] as const;
export type Mode = (typeof modes)[number];

/** Reports of either end of a transfer, which is a node or a client. */
const transferEnds = [
  "transfer.meta",
  "transfer.accept",
  "transfer.part",
  "transfer.complete",
  "transfer.done",
];

/**
 * The methods that may succeed for each mode. They are repeated here so that the fuzz does not rely on the code under
 * test. The client's token has only the scope `client`.
 */
const allowed: Record<Mode, ReadonlySet<string>> = {
  stranger: new Set(),
  client: new Set([
    ...[
      "connect",
      "chat.send",
      "chat.result",
      "program.get",
      "tools.list",
      "tool.invoke",
      "tool.request",
      "logs.get",
      "config.get",
    ],
    ...[
      "sessions.list",
      "session.get",
      "session.stats",
      "session.cost",
      "session.context",
      "session.activate",
      "session.deactivate",
      "session.pin",
      "session.patch",
      "session.reset",
      "session.compact",
    ],
    ...[
      "session.preview",
      "media.url",
      "session.fork",
      "code.create",
      "device.list",
      "device.revoke",
      "session.history",
      "session.delete",
      "session.transcript",
      "workspace.list",
      "workspace.read",
    ],
    ...["session.export", "session.import", "session.search"],
    ...["mcp.list", "mcp.tools", "mcp.probe"],
    ...["object.list", "object.get", "object.history", "object.diff"],
    ...[
      "workspace.write",
      "workspace.delete",
      "memory.list",
      "memory.why",
      "memory.add",
      "memory.forget",
      "memory.correct",
      "memory.allow",
      "memory.dream",
      "memory.dreaming",
      "workspace.log",
      "workspace.diff",
      "workspace.show",
      "workspace.restore",
      "workspace.checkpoint",
      "workspace.clone",
      "agent.init",
      "token.standing",
      "channels.list",
      "channel.status",
      "payload.upload",
      "skills.status",
      "skills.update",
    ],
    ...["usage.get", "budget.list", "approval.list", "approval.get", "grant.list"],
    ...["cron.status", "cron.list", "cron.add", "cron.update", "cron.remove", "cron.run", "cron.runs"],
    ...["heartbeat.status", "heartbeat.trigger", "transfer.open", "transfer.status", "transfer.cancel"],
    ...transferEnds,
  ]),
  node: new Set([
    ...["connect", "tools.list", "tool.result", "logs.result", "node.probe.result", "payload.upload"],
    ...["node.pong", "node.exec.event", "skills.files", ...transferEnds],
  ]),
  bridge: new Set(["connect", "tools.list", "channel.inbound", "channel.delivered", "payload.upload"]),
};

export function mayCall(mode: Mode, method: string): boolean {
  return allowed[mode].has(method);
}

/**
 * A client's methods that only read. A client may name the victim's things in these, because a client token is the
 * owner's; in all other methods it uses its own sessions, agent and node.
 */
const reading = new Set([
  ...["object.list", "object.get", "object.history", "object.diff"],
  ...["config.get", "sessions.list", "session.get", "session.stats", "session.preview", "session.history"],
  ...["media.url", "device.list"],
  ...["session.cost", "session.context", "usage.get", "budget.list"],
  ...["approval.list", "approval.get", "grant.list"],
  ...[
    "session.transcript",
    "session.export",
    "session.search",
    "workspace.list",
    "workspace.read",
    "channels.list",
    "channel.status",
    "tools.list",
    "skills.status",
    "skills.update",
  ],
]);

/** Whether frames of this method may name the victim's things. */
export function mayName(mode: Mode, method: string): boolean {
  return mode !== "client" || reading.has(method) || !mayCall(mode, method);
}
