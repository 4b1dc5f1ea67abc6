import { formatPath } from "../../../shared/configuration/configuration-paths.ts";
import { type ApprovalMode, approvalModes } from "../../../shared/configuration/tool-approval.ts";
import { code } from "../../../shared/protocol/errors.ts";
import { visible } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

/** The modes of a gateway: of all agents, and of agents and nodes that have their own. */
interface Modes {
  mode: ApprovalMode;
  agents: Record<string, ApprovalMode>;
  nodes: Record<string, ApprovalMode>;
}

type Agent = { id: string; toolApproval?: { mode?: ApprovalMode } };

const meanings: Record<ApprovalMode, string> = {
  off: "asks nothing, except by rules",
  guard: "asks before broad deletion, and before what words of others could cause",
  ask: "asks before everything except reading",
};

export const approvalMode: Action = async (context, { args: [given], options }) => {
  const [agent, node] = [text(options.agent), text(options.node)];
  if (agent !== undefined && node !== undefined) throw usage("pass --agent or --node, not both");
  const mode = approvalModes.find((one) => one === given);
  if (given !== undefined && mode === undefined)
    throw usage(
      `the mode must be ${approvalModes.join(", ")}, not ${given}${didYouMean(given, approvalModes)}`,
    );
  const gateway = await context.gateway();
  if (mode !== undefined) await setMode(gateway, mode, agent, node);
  const modes = await readModes(gateway);
  context.print(modes, mode === undefined ? linesOf(modes, agent, node) : setText(mode, agent, node));
};

async function setMode(gateway: Gateway, mode: ApprovalMode, agent?: string, node?: string): Promise<void> {
  if (agent === undefined) {
    const path = node === undefined ? "toolApproval.mode" : formatPath(["toolApproval", "nodes", node]);
    await gateway.request("config.set", { path, value: mode });
    return;
  }
  const list = await readAgents(gateway);
  const ids = list.map(({ id }) => id);
  if (!ids.includes(agent))
    throw new Failure(
      code.notFound,
      `there is no agent ${agent} in the configuration${didYouMean(agent, ids)}; \`gsv agent add\` adds it`,
    );
  const value = list.map((one) =>
    one.id === agent ? { ...one, toolApproval: { ...one.toolApproval, mode } } : one,
  );
  await gateway.request("config.set", { path: "agents.list", value });
}

async function readAgents(gateway: Gateway): Promise<Agent[]> {
  const answer = await gateway.request("config.get", { path: "agents.list" });
  return "value" in answer && Array.isArray(answer.value) ? (answer.value as Agent[]) : [];
}

async function readModes(gateway: Gateway): Promise<Modes> {
  const answer = await gateway.request("config.get", { path: "toolApproval" });
  // A gateway of an earlier version asks nothing.
  const { mode = "off", nodes = {} } = (("value" in answer && answer.value) || {}) as Partial<Modes>;
  const agents = (await readAgents(gateway)).flatMap(({ id, toolApproval }) =>
    toolApproval?.mode === undefined ? [] : [[id, toolApproval.mode] as const],
  );
  return { mode, agents: Object.fromEntries(agents), nodes };
}

/** What is in force: everything, or what counts for one agent or node. */
function linesOf({ mode, agents, nodes }: Modes, agent?: string, node?: string): string {
  const line = (name: string, one: ApprovalMode) => `${visible(name)}: ${one} – ${meanings[one]}`;
  const ofAgents = Object.entries(agents).map(([id, one]) => [id, line(`agent ${id}`, one)] as const);
  const ofNodes = Object.entries(nodes).map(([id, one]) => [id, line(`node ${id}`, one)] as const);
  const all = line("all agents", mode);
  if (agent !== undefined) return new Map(ofAgents).get(agent) ?? all;
  if (node !== undefined) return new Map(ofNodes).get(node) ?? `node ${visible(node)}: as its agent's`;
  return [all, ...ofAgents.map(([, one]) => one), ...ofNodes.map(([, one]) => one)].join("\n");
}

function setText(mode: ApprovalMode, agent?: string, node?: string): string {
  const where = agent === undefined ? (node === undefined ? "all agents" : `node ${node}`) : `agent ${agent}`;
  return `${visible(where)}: ${mode} – ${meanings[mode]}`;
}
