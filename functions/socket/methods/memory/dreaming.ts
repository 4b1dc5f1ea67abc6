import { dreamSettings } from "../../../../shared/dreaming/dream-settings.ts";
import { readDream } from "../../../../shared/dreaming/dream-state.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import type { DreamResults } from "../../../../shared/protocol/memory-schemas.ts";
import type { MethodTable } from "../../gateway.ts";
import { agentOf } from "../workspace/workspace.ts";

/** Most memories of one answer. */
const mostVerdicts = 200;

/** Dreaming reads and writes MEMORY.md: it is the owner's, as that is. */
export const dreamMethods: Pick<MethodTable, keyof DreamResults> = {
  "memory.dream": {
    modes: ["client"],
    async handle(gateway, { agentId: named, dryRun = false }) {
      const [agentId, configuration, memories] = await Promise.all([
        agentOf(gateway, named),
        gateway.configuration.load({ fresh: true }),
        gateway.memories(),
      ]);
      if (!dryRun && !dreamSettings(configuration, agentId).enabled)
        throw new PeerError(
          code.badRequest,
          `dreaming is off for the agent ${agentId}: set dreaming.enabled to true, then what it recalls is counted`,
        );
      const run = { agentId, configuration, now: gateway.now() };
      const dreaming = { ...gateway, memories };
      const { previewSweep, sweepMemories } = await import("../../../../shared/dreaming/dream-sweep.ts");
      const outcome = await (dryRun ? previewSweep(dreaming, run) : sweepMemories(dreaming, run));
      if (!outcome) return { agentId, dryRun: false, busy: true };
      const verdicts = outcome.verdicts.slice(0, mostVerdicts);
      return { agentId, dryRun, busy: false, sweep: outcome.summary, verdicts };
    },
  },
  "memory.dreaming": {
    modes: ["client"],
    async handle(gateway, { agentId: named }) {
      const agentId = await agentOf(gateway, named);
      const [configuration, { nextAt, last, sweep }] = await Promise.all([
        gateway.configuration.load({ fresh: true }),
        readDream(gateway.table, agentId),
      ]);
      const { enabled, intervalSecs } = dreamSettings(configuration, agentId);
      return {
        agentId,
        enabled,
        intervalSecs,
        ...(enabled && nextAt !== undefined ? { nextAt } : {}),
        ...(last ? { last } : {}),
        ...(sweep ? { unfinishedAt: sweep.at } : {}),
      };
    },
  },
};
