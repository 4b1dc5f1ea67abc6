import type { Configuration } from "../../../shared/configuration/schema.ts";
import { code } from "../../../shared/protocol/errors.ts";
import { defaultAgentId } from "../../../shared/session/key/routing.ts";
import { columns, visible } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

type Agents = Pick<Configuration["agents"], "list" | "bindings">;
type Agent = Agents["list"][number];

/** Writes the initial files of an agent. Existing files are not changed. */
export const initAgent: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("agent.init", args[0] === undefined ? {} : { agentId: args[0] });
  const { agentId, written } = result;
  const outcome = written.length > 0 ? `written: ${written.join(", ")}` : "nothing to write, all files exist";
  context.print(result, `agent ${agentId}: ${outcome}`);
};

export const listAgents: Action = async (context) => {
  const { list, bindings } = await readAgents(await context.gateway());
  const byDefault = defaultAgentId(list);
  // The agent `main` and the default agent exist without settings.
  const ids = [...new Set(["main", byDefault, ...list.map(({ id }) => id)])];
  const agents = ids.map((id) => ({
    ...list.find((agent) => agent.id === id),
    id,
    default: id === byDefault,
    bindings: bindings.filter(({ agentId }) => agentId === id).map(({ match }) => match),
  }));
  const rows = agents.map(({ id, default: isDefault, model, bindings: bound }) => [
    isDefault ? `${id} (default)` : id,
    model ? `${model.provider}/${model.id}` : "(the gateway's)",
    visible(bound.map(matchText).join("; ")),
  ]);
  context.print({ agents }, columns(["AGENT", "MODEL", "GETS MESSAGES OF"], rows));
};

export const addAgent: Action = async (context, { args: [id = ""], options }) => {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(id))
    throw usage(`an agent's id has at most 64 characters of a-z, 0-9, _ and -, not ${id}`);
  const model = text(options.model);
  const [, provider = "", modelId = ""] = /^([^/]+)\/(.+)$/.exec(model ?? "") ?? [];
  if (model !== undefined && modelId === "")
    throw usage(`--model must be provider/id, for example anthropic/claude-opus-4-8, not ${model}`);
  const systemPrompt = text(options.prompt);
  const gateway = await context.gateway();
  const { list } = await readAgents(gateway);
  if (list.some((agent) => agent.id === id))
    throw new Failure(code.conflict, `agent ${id} already exists; \`gsv agent list\` shows it`);
  const agent: Agent = {
    id,
    ...(options.default === true ? { default: true } : {}),
    ...(model === undefined ? {} : { model: { provider, id: modelId } }),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
  };
  const others = options.default === true ? list.map(({ default: _, ...other }) => other) : list;
  await gateway.request("config.set", { path: "agents.list", value: [...others, agent] });
  const { written } = await gateway.request("agent.init", { agentId: id });
  context.print({ agent, written }, `added agent ${id}; talk to it: gsv client --session agent:${id}:main`);
};

export const removeAgent: Action = async (context, { args: [id = ""], options }) => {
  const gateway = await context.gateway();
  const { list, bindings } = await readAgents(gateway);
  const ids = list.map((agent) => agent.id);
  if (!ids.includes(id))
    throw new Failure(
      code.notFound,
      `there is no agent ${id}${didYouMean(id, ids)}; \`gsv agent list\` shows the agents`,
    );
  if (options.yes !== true) {
    if (context.terminal.stdin.isTTY !== true)
      throw usage(`no terminal to ask for confirmation; pass --yes to remove the agent ${id}`);
    if (!(await confirm(context.terminal, `Remove the agent ${id}?`)))
      throw new Failure("cancelled", "nothing was removed");
  }
  const kept = bindings.filter(({ agentId }) => agentId !== id);
  const unbound = bindings.length - kept.length;
  // Remove the bindings first: a message between the two calls goes to the default agent, not to one without settings.
  if (unbound > 0) await gateway.request("config.set", { path: "agents.bindings", value: kept });
  const remaining = list.filter((agent) => agent.id !== id);
  await gateway.request("config.set", { path: "agents.list", value: remaining });
  const withIts = unbound > 0 ? ` with ${unbound === 1 ? "its binding" : `its ${unbound} bindings`}` : "";
  context.print(
    { removed: true, id, bindings: unbound },
    `removed agent ${id}${withIts}; its files and conversations remain (gsv workspace ls --agent ${id}), and so do its jobs (gsv cron list --agent ${id})`,
  );
};

/** The configured agents, and the bindings that route messages to them. */
async function readAgents(gateway: Gateway): Promise<Agents> {
  const answer = await gateway.request("config.get", { path: "agents" });
  const { list = [], bindings = [] } = ("value" in answer ? answer.value : {}) as Partial<Agents>;
  return { list, bindings };
}

/** The messages that a binding matches, such as `telegram group -100123`. */
function matchText({ channel, accountId, peer }: Agents["bindings"][number]["match"]): string {
  const parts = [channel ?? "every channel", accountId && `account ${accountId}`, peer?.kind, peer?.id];
  return parts.filter(Boolean).join(" ");
}
