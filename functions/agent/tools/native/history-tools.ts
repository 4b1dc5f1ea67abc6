import * as v from "valibot";
import type { Configuration } from "../../../../shared/configuration/schema.ts";
import { gitSettings } from "../../../../shared/git/git-settings.ts";
import { unknownOrigin } from "../../../../shared/origins/origins.ts";
import { count } from "../../../../shared/protocol/schemas.ts";
import { isVisible } from "../../../../shared/workspace/privacy.ts";
import { type NativeOutcome, nativeTool, type ToolCallContext } from "./native-tool.ts";

/** Max characters of all diffs in one result. */
const maxDiffChars = 20_000;

const isOffered = (configuration: Configuration, agentId: string) => {
  const { enabled, tools } = gitSettings(configuration, agentId);
  return enabled && tools;
};

/** The history contains MEMORY.md, so a conversation that may not read that file gets no history. */
const refusal: NativeOutcome = {
  ok: false,
  error: "The workspace history contains private memory; only the main conversation may read it.",
};
const seesHistory = ({ turn }: ToolCallContext) => isVisible(turn.audience, "MEMORY.md");

export const memoryHistory = nativeTool({
  name: "gsv__memory_history",
  description: "List the latest commits of your workspace, with what each changed.",
  arguments: { limit: v.optional(count(1, 100)), include_diff: v.optional(v.boolean()) },
  repeatable: true,
  forGuests: false,
  ownSessionsOnly: true,
  isOffered,
  async run({ limit = 20, include_diff: withDiff = false }, context) {
    if (!seesHistory(context)) return refusal;
    const { bucket } = context.agent;
    const { agentId } = context.turn;
    const { listedCommit, workspaceLog } = await import("../../../../shared/git/workspace-history.ts");
    const entries = await workspaceLog(bucket, agentId, { limit });
    let left = withDiff ? maxDiffChars : 0;
    const commits: object[] = [];
    for (const { at, ...entry } of entries) {
      const commit = { ...entry, at: new Date(at).toISOString() };
      const { patch } = left > 0 ? await listedCommit(bucket, agentId, entry.sha) : { patch: undefined };
      commits.push(patch === undefined ? commit : { ...commit, diff: patch.slice(0, left) });
      left -= patch?.length ?? 0;
    }
    // The history does not record whose words a file contained.
    return {
      ok: true,
      result: { commits, ...(left < 0 ? { truncated: true } : {}) },
      origins: [unknownOrigin],
    };
  },
});

export const memoryCheckpoint = nativeTool({
  name: "gsv__memory_checkpoint",
  description: "Commit your workspace as it is now, with a note saying why.",
  arguments: { note: v.pipe(v.string(), v.minLength(1), v.maxLength(500)) },
  repeatable: true,
  forGuests: false,
  ownSessionsOnly: true,
  isOffered,
  async run({ note }, context) {
    if (!seesHistory(context)) return refusal;
    const { agent, turn } = context;
    const { commitWorkspace } = await import("../../../../shared/git/workspace-commit.ts");
    const reason = { message: `checkpoint: ${note}`, at: agent.now() };
    return { ok: true, result: await commitWorkspace(agent.bucket, turn.agentId, reason) };
  },
});
