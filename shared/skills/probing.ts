import type { Configuration } from "../configuration/schema.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import { listPeers, type PeerRecord, readPeer, setNodeBins } from "../peers/registry.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { eventFrame } from "../protocol/frames.ts";
import { log, logError } from "../runtime/log.ts";
import type { Schedules, Sockets, Table } from "../world/world.ts";
import { applyAnswer, binStatus, type PendingProbe, type ProbeAnswer, planProbes } from "./bin-probes.ts";
import { requiredBins } from "./eligibility.ts";
import { changeNodeBins, readNodeBins } from "./node-bins.ts";
import type { SkillLister } from "./skill-lister.ts";

/** The dependencies of probing. */
export interface Probing {
  table: Table;
  sockets: Sockets;
  schedules: Schedules;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}

/** Options of asking a node: see `ProbeOptions`. */
export interface Asking {
  force?: boolean;
  timeoutMs?: number;
  isNewConnection?: boolean;
}

/** Whether a node runs commands, and so can report which programs it has. */
export function canProbeBins({ runtime }: Pick<PeerRecord, "runtime">): boolean {
  return runtime?.hostCapabilities.includes("shell.exec") ?? false;
}

/** The programs that the enabled skills of all agents require. */
async function binsOfAllAgents(
  { now }: Pick<Probing, "now">,
  skills: SkillLister,
  { agents, skills: { entries } }: Configuration,
): Promise<string[]> {
  const agentIds = new Set(["main", ...agents.list.map(({ id }) => id)]);
  const lists = await Promise.all([...agentIds].map((agentId) => skills.list(agentId, now())));
  return requiredBins(lists.flat(), entries);
}

/**
 * Asks a newly connected node for the programs of all skills. Probes of its earlier connection are sent again with the same
 * ids.
 */
export async function probeNodeOnConnect(
  probing: Probing,
  skills: SkillLister,
  nodeId: string,
): Promise<void> {
  const { table, configuration, now } = probing;
  const node = await readPeer(table, "node", nodeId, now());
  if (!node || !canProbeBins(node)) return;
  const wanted = await binsOfAllAgents(probing, skills, await configuration.load());
  await askNode(probing, node, wanted, { isNewConnection: true });
}

/**
 * Asks all connected nodes for the programs of all skills, after a skill or its configuration has changed. A failure is
 * only logged: the change is done, and a node is asked again when it next connects.
 */
export async function askAllNodes(probing: Probing, skills: SkillLister): Promise<void> {
  try {
    skills.forget();
    const { table, configuration, now } = probing;
    const [nodes, fresh] = await Promise.all([
      listPeers(table, "node", now()),
      configuration.load({ fresh: true }),
    ]);
    const able = nodes.filter(canProbeBins);
    if (able.length === 0) return;
    const wanted = await binsOfAllAgents(probing, skills, fresh);
    await Promise.all(able.map((node) => askNode(probing, node, wanted, {})));
  } catch (error) {
    logError("probe.unsent", error);
  }
}

/**
 * Asks a node for the wanted programs without a fresh answer or a pending probe.
 * @returns the number of probes that reached the node
 * @throws PeerError 503 when it does not receive them; they stay pending for its next connection
 */
export async function askNode(
  probing: Probing,
  node: PeerRecord,
  wanted: readonly string[],
  asking: Asking,
): Promise<number> {
  const { table, configuration, now } = probing;
  const at = now();
  const maxAgeMs = (await configuration.load()).timeouts.skillProbeMaxAgeMs;
  let send: PendingProbe[] = [];
  const bins = await changeNodeBins(table, node.id, at, (before) => {
    const plan = planProbes(before, wanted, { ...asking, maxAgeMs, now: at });
    send = plan.send;
    return plan.next;
  });
  // An answer on its earlier connection may have arrived while this one was being registered.
  if ((node.binAnswers ?? 0) < bins.answers) await showBins(probing, node.id);
  await Promise.all(send.map((probe) => sendProbe(probing, node, probe)));
  return send.length;
}

/** Sends a probe, and schedules its timeout. */
async function sendProbe(
  { sockets, schedules }: Probing,
  node: PeerRecord,
  { probeId, bins, timeoutMs, sentAt, attempts }: PendingProbe,
): Promise<void> {
  const frame = eventFrame("node.probe", { probeId, kind: "bins", bins, timeoutMs });
  const at = sentAt + timeoutMs;
  const event = { kind: "probe-timeout" as const, nodeId: node.id, at };
  const unwatched = (error: unknown) => logError("probe.unwatched", error, { nodeId: node.id, probeId });
  const [outcome] = await Promise.all([
    sockets.post(node.connectionId, frame),
    schedules.once(`probe-${probeId}-${sentAt}`, at, event).catch(unwatched),
  ]);
  log("probe.sent", { nodeId: node.id, probeId, bins: bins.length, attempts, outcome });
  if (outcome === "sent") return;
  const reason = outcome === "gone" ? "it has disconnected" : "it does not read its connection";
  throw new PeerError(code.unavailable, `${node.id}: ${reason}`, { retryable: true });
}

/**
 * Stores a node's answer, and copies it to the node's connection record, where skills read it.
 * @returns false when no such probe is pending
 */
export async function acceptProbe(
  probing: Pick<Probing, "table" | "now">,
  nodeId: string,
  probeId: string,
  answer: ProbeAnswer,
): Promise<boolean> {
  const { table, now } = probing;
  let isPending = false;
  await changeNodeBins(table, nodeId, now(), (bins) => {
    const answered = applyAnswer(bins, probeId, answer, now());
    isPending = answered !== undefined;
    return answered ?? bins;
  });
  log("probe.answered", { nodeId, probeId, ok: answer.ok, isPending });
  // Also for a repeated answer: the first attempt may have crashed before this step.
  await showBins(probing, nodeId);
  return isPending;
}

/** Handles a probe's timeout: it is sent again, or given up. Does nothing when the node is not connected. */
export async function expireProbes(probing: Probing, nodeId: string, at: number): Promise<void> {
  // Use the schedule's time when this clock is behind it.
  const now = () => Math.max(probing.now(), at);
  const node = await readPeer(probing.table, "node", nodeId, now());
  if (!node) return;
  await askNode({ ...probing, now }, node, [], {});
}

/** Adds the known programs of a node to its connection record, which also has those that it announced itself. */
async function showBins({ table, now }: Pick<Probing, "table" | "now">, nodeId: string): Promise<void> {
  const [bins, node] = await Promise.all([
    readNodeBins(table, nodeId),
    readPeer(table, "node", nodeId, now()),
  ]);
  if (!node?.runtime || (node.binAnswers ?? 0) >= bins.answers) return;
  const { hostBinStatus, hostBinStatusUpdatedAt } = binStatus(bins);
  await setNodeBins(table, nodeId, {
    hostBinStatus: { ...node.runtime.hostBinStatus, ...hostBinStatus },
    hostBinStatusUpdatedAt: hostBinStatusUpdatedAt ?? node.runtime.hostBinStatusUpdatedAt,
    answers: bins.answers,
  });
}
