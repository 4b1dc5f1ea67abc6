import * as v from "valibot";
import { readBeat, turnOn } from "../../../../shared/heartbeat/beat-state.ts";
import { beatSettings } from "../../../../shared/heartbeat/beat-times.ts";
import { replanBeats } from "../../../../shared/heartbeat/replan-beats.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { askAllNodes } from "../../../../shared/skills/probing.ts";
import { createSkillLister } from "../../../../shared/skills/skill-lister.ts";
import { checkReadable, checkWritable, visibleListing } from "../../../../shared/workspace/privacy.ts";
import { applyEdit } from "../../../../shared/workspace/workspace-files.ts";
import {
  isMemoryPath,
  isSkillFile,
  promptFiles,
  withoutLeadingSlash,
} from "../../../../shared/workspace/workspace-paths.ts";
import type { Agent } from "../../agent.ts";
import { recordAdded } from "../../self/memory-origin.ts";
import { type NativeOutcome, nativeTool } from "./native-tool.ts";
import { skillCheck } from "./skill-guard.ts";

const anyPath = v.pipe(v.string(), v.maxLength(1024));
const path = v.pipe(anyPath, v.minLength(1));

/** Asks the nodes for the programs that a written skill may need. */
async function askForPrograms(agent: Agent, path: string): Promise<void> {
  if (isSkillFile(path)) await askAllNodes(agent, createSkillLister(agent.bucket));
}

export const readFile = nativeTool({
  name: "gsv__ReadFile",
  description:
    "Read a text file of your workspace, such as skills/x/SKILL.md. A folder's path, or an empty one, lists it.",
  arguments: { path: anyPath },
  repeatable: true,
  forGuests: true,
  async run(args, { agent, turn }) {
    checkReadable(turn.audience, args.path);
    const folder = args.path.replace(/\/$/, "");
    const list = async () => visibleListing(turn.audience, await agent.workspace.list(turn.agentId, folder));
    if (folder !== args.path || folder === "") return { ok: true, result: await list() };
    try {
      const { origins = [], ...file } = await agent.workspace.read(turn.agentId, args.path);
      return { ok: true, result: file, origins };
    } catch (error) {
      if (!(error instanceof PeerError) || error.code !== code.notFound) throw error;
      const listing = await list();
      if (listing.files.length + listing.directories.length === 0) throw error;
      return { ok: true, result: listing };
    }
  },
});

export const writeFile = nativeTool({
  name: "gsv__WriteFile",
  description: "Write a text file of your workspace, replacing its content.",
  arguments: { path, content: v.string() },
  repeatable: true,
  forGuests: false,
  async run(args, context) {
    const { agent, turn } = context;
    const check = await skillCheck(args.path);
    check(args.content);
    checkWritable(turn.audience, args.path);
    await recordAdded(context, args.path, args.content);
    const written = await agent.workspace.write(turn.agentId, args.path, args.content, turn.origins);
    await askForPrograms(agent, args.path);
    return { ok: true, result: written };
  },
});

export const editFile = nativeTool({
  name: "gsv__EditFile",
  description:
    "Replace text in a file of your workspace. oldString must occur exactly once, unless replaceAll is true.",
  arguments: {
    path,
    oldString: v.pipe(v.string(), v.minLength(1)),
    newString: v.string(),
    replaceAll: v.optional(v.boolean()),
  },
  repeatable: false,
  forGuests: false,
  async run(args, context) {
    const { agent, turn } = context;
    checkWritable(turn.audience, args.path);
    if (isMemoryPath(withoutLeadingSlash(args.path))) {
      const { content } = await agent.workspace.read(turn.agentId, args.path);
      await recordAdded(context, args.path, applyEdit(content, args).content);
    }
    const check = await skillCheck(args.path);
    const edited = await agent.workspace.edit(turn.agentId, args.path, args, turn.origins, check);
    await askForPrograms(agent, args.path);
    return { ok: true, result: edited };
  },
});

export const deleteFile = nativeTool({
  name: "gsv__DeleteFile",
  description: "Delete a file of your workspace.",
  arguments: { path },
  repeatable: false,
  forGuests: false,
  async run(args, { agent, turn }) {
    checkWritable(turn.audience, args.path);
    if (withoutLeadingSlash(args.path) === promptFiles.bootstrap) return endCeremony(agent, turn.agentId);
    return { ok: true, result: await agent.workspace.delete(turn.agentId, args.path) };
  },
});

type CeremonyTools = Pick<Agent, "workspace" | "configuration" | "table" | "schedules" | "now">;

/**
 * Ends the first run: turns the agent's heartbeat on, unless the user has turned it on or off before, and then deletes
 * BOOTSTRAP.md. After a crash in between, the ceremony can be ended again.
 * @throws PeerError 404 when there is no BOOTSTRAP.md; the heartbeat is not turned on then
 */
async function endCeremony(agent: CeremonyTools, agentId: string): Promise<NativeOutcome> {
  const { workspace, configuration, table, now } = agent;
  await workspace.read(agentId, promptFiles.bootstrap);
  const [state, loaded] = await Promise.all([readBeat(table, agentId), configuration.load({ fresh: true })]);
  const settings = beatSettings(loaded, agentId);
  if (state.on === undefined) {
    await turnOn(agent, state, settings, now());
    await replanBeats(agent);
  }
  const deleted = await workspace.delete(agentId, promptFiles.bootstrap);
  if (state.on === false || settings.everyMs === 0) return { ok: true, result: deleted };
  const { start, end, timezone } = settings.hours;
  const heartbeat =
    `on: every ${settings.everyMs / 60_000} minutes from ${start} to ${end} (${timezone}) you are woken, if ` +
    `${promptFiles.heartbeat} says what to look after; each time is a model call. Tell your human, and that ` +
    "`gsv heartbeat stop` turns it off";
  return { ok: true, result: { ...deleted, heartbeat } };
}
