import { listPeers, type PeerRecord, readPeer } from "../../../shared/peers/registry.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import type { SkillEntry, SkillNode, SkillsResult } from "../../../shared/protocol/skill-schemas.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { normalizeAgentId } from "../../../shared/session/key/session-key.ts";
import { isBinName } from "../../../shared/skills/bin-probes.ts";
import { evaluateSkills, requiredBins, type SkillStatus } from "../../../shared/skills/eligibility.ts";
import { askNode, canProbeBins } from "../../../shared/skills/probing.ts";
import { skillFiles } from "../../../shared/skills/skill-mirror.ts";
import type { Gateway, MethodTable } from "../gateway.ts";

export const skillMethods: Pick<MethodTable, "skills.status" | "skills.update" | "skills.files"> = {
  "skills.status": {
    modes: ["client"],
    handle: async (gateway, { agentId }) => (await readSkills(gateway, agentId)).result,
  },
  "skills.update": {
    modes: ["client"],
    async handle(gateway, { agentId, force, timeoutMs }) {
      const { result, nodes } = await readSkills(gateway, agentId);
      let updatedNodeCount = 0;
      const skippedNodeIds: string[] = [];
      const errors: string[] = [];
      const ask = async (node: PeerRecord) => {
        try {
          const isAsked =
            canProbeBins(node) &&
            (await askNode(gateway, node, result.requiredBins, { force, timeoutMs })) > 0;
          if (isAsked) updatedNodeCount += 1;
          else skippedNodeIds.push(node.id);
        } catch (error) {
          if (!(error instanceof PeerError)) logError("probe.unsent", error, { nodeId: node.id });
          errors.push(error instanceof PeerError ? error.message : `${node.id}: could not be asked`);
        }
      };
      await Promise.all(nodes.map(ask));
      return { ...result, updatedNodeCount, skippedNodeIds: skippedNodeIds.sort(), errors: errors.sort() };
    },
  },
  "skills.files": {
    modes: ["node"],
    async handle(gateway, asked, { caller }) {
      const agentId = normalizeAgentId(asked.agentId);
      gateway.skills.forget();
      const [configuration, skills, node] = await Promise.all([
        gateway.configuration.load(),
        gateway.skills.list(agentId, gateway.now()),
        readPeer(gateway.table, "node", caller.peerId, gateway.now()),
      ]);
      return skillFiles(gateway, { configuration, skills, ...(node ? { node } : {}) }, { ...asked, agentId });
    },
  },
};

/** Reads the skills of an agent and the connected nodes, without caches. */
async function readSkills(
  gateway: Gateway,
  agent: string,
): Promise<{ result: SkillsResult; nodes: PeerRecord[] }> {
  const agentId = normalizeAgentId(agent);
  const now = gateway.now();
  gateway.skills.forget();
  const [configuration, skills, nodes] = await Promise.all([
    gateway.configuration.load({ fresh: true }),
    gateway.skills.list(agentId, now),
    listPeers(gateway.table, "node", now),
  ]);
  const { entries } = configuration.skills;
  const hosts = nodes.flatMap(({ id, runtime }) => (runtime ? [{ ...runtime, nodeId: id }] : []));
  const evaluated = evaluateSkills(skills, { entries, hosts, config: configuration });
  const result = {
    agentId,
    refreshedAt: now,
    requiredBins: requiredBins(skills, entries),
    nodes: nodes.flatMap(nodeEntry),
    skills: evaluated.map(skillEntry),
  };
  return { result, nodes };
}

function nodeEntry(node: PeerRecord): SkillNode[] {
  const { id, runtime } = node;
  if (!runtime) return [];
  const { hostRole, hostCapabilities, hostOs, hostEnv = [], hostBinStatus = {} } = runtime;
  const hostBins = Object.keys(hostBinStatus).filter((name) => hostBinStatus[name] && isBinName(name));
  return [
    {
      nodeId: id,
      hostRole,
      hostCapabilities,
      ...(hostOs === undefined ? {} : { hostOs }),
      hostEnv,
      hostBins: hostBins.sort(),
      ...(runtime.hostBinStatusUpdatedAt === undefined
        ? {}
        : { hostBinStatusUpdatedAt: runtime.hostBinStatusUpdatedAt }),
      canProbeBins: canProbeBins(node),
    },
  ];
}

function skillEntry(status: SkillStatus): SkillEntry {
  const { name, description, location, always, eligible, eligibleHosts, reasons, requirements } = status;
  const asked = requirements ? { requirements: { ...requirements } } : {};
  return { name, description, location, always, eligible, eligibleHosts, reasons, ...asked };
}
