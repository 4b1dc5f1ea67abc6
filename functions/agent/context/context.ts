import type { ChannelOrigin } from "../../../shared/channels/channel.ts";
import type { Configuration, ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { type NodeTool, nodeTools } from "../../../shared/peers/node-tools.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { effectiveModel } from "../../../shared/session/commands/model-choice.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../../shared/session/key/session-key.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { type Audience, audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Skill } from "../../../shared/workspace/skills.ts";
import type { Agent } from "../agent.ts";
import { nativeTools } from "../tools/native-tools.ts";
import { evaluateSkills } from "./eligibility.ts";
import { assemblePrompt } from "./prompt.ts";

/** What a model call sees besides the messages. */
export interface TurnContext {
  configuration: Configuration;
  model: ModelConfiguration;
  systemPrompt: string;
  tools: ToolDefinition[];
  /** The tools of connected nodes, by the name that the model uses. */
  nodeTools: Map<string, NodeTool>;
  nodes: PeerRecord[];
  audience: Audience;
  agentId: string;
  /** Where the conversation was last held on a channel. */
  lastChannel?: ChannelOrigin;
}

/** Gathers configuration and workspace files, all at once. `connected`: the nodes whose tools are offered. */
export async function loadContext(
  agent: Pick<Agent, "configuration" | "prompts" | "now">,
  state: SessionState,
  run: Run,
  connected: Promise<PeerRecord[]>,
): Promise<TurnContext> {
  const { sessionKey } = state;
  const agentId = agentIdOf(sessionKey);
  const now = agent.now();
  const configuration = await agent.configuration.load();
  const kind = sessionKind(sessionKey, keyRules(configuration));
  const audience = audienceOf(kind);
  const timezone = configuration.userTimezone;
  const [nodes, { files, skills }] = await Promise.all([
    connected,
    agent.prompts.load({ agentId, ...audience, now, timezone }),
  ]);
  const model = effectiveModel(configuration, sessionKey, state.settings, run.overrides);
  const offered = nodeTools(nodes);
  const native = Object.values(nativeTools).map((tool) => tool.definition);
  const tools = [...native, ...[...offered.values()].map((tool) => tool.definition)];
  const ofAgent = configuration.agents.list.find((one) => one.id === agentId);
  const { text } = assemblePrompt({
    basePrompt: state.settings.systemPrompt ?? ofAgent?.systemPrompt ?? configuration.systemPrompt,
    tools,
    files,
    skills: eligibleSkills(skills, configuration, nodes),
    runtime: {
      agentId,
      sessionKey,
      sessionKind: kind,
      model: `${model.provider}/${model.id}`,
      timezone,
      ...(run.origin.kind === "channel" ? { channel: run.origin.channel } : {}),
      hosts: nodes.map((node) => ({
        nodeId: node.id,
        ...(node.runtime?.hostOs ? { os: node.runtime.hostOs } : {}),
        tools: (node.tools ?? []).map((tool) => tool.name),
      })),
      now: run.startedAt,
    },
  });
  const lastChannel = run.origin.kind === "channel" ? run.origin : state.lastChannel;
  const last = lastChannel ? { lastChannel } : {};
  return {
    ...{ configuration, model, systemPrompt: text, tools, nodeTools: offered, nodes, audience, agentId },
    ...last,
  };
}

function eligibleSkills(skills: Skill[], configuration: Configuration, nodes: PeerRecord[]): Skill[] {
  const hosts = nodes.flatMap(({ id, runtime }) => (runtime ? [{ ...runtime, nodeId: id }] : []));
  const surroundings = { entries: configuration.skills.entries, hosts, config: configuration };
  return evaluateSkills(skills, surroundings).filter((skill) => skill.eligible);
}
