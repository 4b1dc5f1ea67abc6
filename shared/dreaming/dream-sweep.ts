import { randomUUID } from "node:crypto";
import { gitSettings } from "../git/git-settings.ts";
import { type MemoryStore, originsOfLines } from "../memory/memory-store.ts";
import { joinOrigins } from "../origins/origins.ts";
import { PeerError } from "../protocol/errors.ts";
import type { DreamSummary, DreamVerdict } from "../protocol/memory-schemas.ts";
import { log, logError } from "../runtime/log.ts";
import type { Workspace } from "../workspace/workspace-files.ts";
import { inGroups } from "../world/in-groups.ts";
import type { Bucket, Schedules, Table } from "../world/world.ts";
import { type Candidate, chooseMemories, promotedReason, rounded, secretReason } from "./choose-memories.ts";
import {
  acquireDream,
  type BegunSweep,
  beginSweep,
  finishSweep,
  type PlannedSweep,
  releaseDream,
} from "./dream-state.ts";
import { diaryEntry, dreamedSection, withDiaryEntry, withDreamed } from "./dream-texts.ts";
import { type DreamConfiguration, dreamSettings, scheduleDream } from "./plan-dream.ts";
import { listRecalls, recallsByMemory, recallWindowMs } from "./recall-events.ts";

/** The dependencies of a sweep. */
export interface Dreaming {
  table: Table;
  bucket: Bucket;
  schedules: Schedules;
  workspace: Workspace;
  memories: MemoryStore;
}

/** The agent, configuration and time (epoch ms) of a sweep. */
export interface DreamRun {
  agentId: string;
  configuration: DreamConfiguration;
  now: number;
}

/** The result of a sweep and its decision on each memory. A sweep resumed after a crash has no verdicts. */
export interface SweepOutcome {
  summary: DreamSummary;
  verdicts: DreamVerdict[];
}

/** The files for promotions and for the diary. */
const memoryPath = "MEMORY.md";
const diaryPath = "DREAMS.md";

/**
 * Promotes often recalled memories into MEMORY.md, and writes the diary. Does not call a model. The texts are stored first,
 * and each step can be repeated, so that an interrupted sweep can be resumed: it writes one section, one diary entry, and each
 * promotion once.
 * @returns undefined when another sweep of the agent is in progress
 */
export async function sweepMemories(dreaming: Dreaming, run: DreamRun): Promise<SweepOutcome | undefined> {
  const { table } = dreaming;
  const { agentId, now } = run;
  const owner = randomUUID();
  const state = await acquireDream(table, agentId, owner, now);
  if (!state) return undefined;
  if (state.sweep) {
    log("dream.resume", { agentId, at: state.sweep.at });
    return { summary: await carryOut(dreaming, run, state.sweep), verdicts: [] };
  }
  try {
    const { sweep, verdicts } = await decide(dreaming, run, owner);
    if (!(await beginSweep(table, agentId, sweep))) return undefined;
    return { summary: await carryOut(dreaming, run, sweep), verdicts };
  } catch (error) {
    await releaseDream(table, agentId, owner).catch(() => {});
    throw error;
  }
}

/** The result that a sweep would have now. Changes nothing. */
export async function previewSweep(
  dreaming: Omit<Dreaming, "schedules">,
  run: DreamRun,
): Promise<SweepOutcome> {
  const { sweep, verdicts } = await decide(dreaming, run, "");
  return { summary: sweep.summary, verdicts };
}

async function decide(
  { table, memories }: Pick<Dreaming, "table" | "memories">,
  { agentId, configuration, now }: DreamRun,
  id: string,
): Promise<{ sweep: BegunSweep; verdicts: DreamVerdict[] }> {
  const recalls = recallsByMemory(await listRecalls(table, agentId, now - recallWindowMs));
  const paths = new Set([memoryPath, ...[...recalls.values()].flatMap((line) => [...line.paths])]);
  const lines = (await inGroups([...paths], (path) => memories.files.read(agentId, path))).flat();
  const found = await inGroups([...recalls], async ([memoryId, { hits }]): Promise<Candidate[]> => {
    const places = lines.filter((line) => line.id === memoryId);
    const [first] = places;
    if (!first) return [];
    const record = await memories.ledger.find(agentId, memoryId);
    const memory = { id: memoryId, text: first.text, places, ...(record ? { record } : {}) };
    return [{ memory, hits, isPromoted: record?.promoted !== undefined }];
  });
  const longTerm = lines.flatMap(({ path, text }) => (path === memoryPath ? [text] : []));
  const settings = dreamSettings(configuration, agentId);
  const { promotions, verdicts } = chooseMemories(found.flat(), longTerm, settings, now);
  const because = (reason: string) => verdicts.filter((one) => one.reason?.startsWith(reason)).length;
  const counts = {
    candidates: verdicts.length,
    alreadyPromoted: because(promotedReason),
    secrets: because(secretReason),
  };
  const [best, worst] = [promotions[0]?.score, promotions.at(-1)?.score];
  const sweep: BegunSweep = {
    id,
    at: now,
    diary: diaryEntry(promotions, counts, now),
    promotions: promotions.map(({ id: promoted, score }) => ({ id: promoted, score })),
    origins: joinOrigins(
      ...found
        .flat()
        .filter(({ memory }) => promotions.some(({ id: promoted }) => promoted === memory.id))
        .map(({ memory }) => memory.record?.origins ?? originsOfLines(lines, memory.id)),
    ),
    summary: {
      at: now,
      ...counts,
      promoted: promotions.length,
      ...(best !== undefined && worst !== undefined ? { scores: [rounded(worst), rounded(best)] } : {}),
    },
    ...(promotions.length > 0 ? { section: dreamedSection(promotions, now) } : {}),
  };
  return { sweep, verdicts };
}

async function carryOut(dreaming: Dreaming, run: DreamRun, sweep: BegunSweep): Promise<DreamSummary> {
  const { table, schedules, workspace, memories } = dreaming;
  const { agentId, configuration } = run;
  const { section, diary, origins } = sweep;
  const refused =
    section &&
    (await writeFile(workspace, agentId, memoryPath, (text) => withDreamed(text, section), origins));
  await writeFile(workspace, agentId, diaryPath, (text) => withDiaryEntry(text, diary), origins);
  // A memory that was forgotten since the sweep decided is removed again.
  for (const { id, score } of refused ? [] : sweep.promotions)
    if (!(await memories.ledger.promote(agentId, id, { at: sweep.at, score: rounded(score) })))
      await memories.files.remove(agentId, id);
  const commit = await commitSweep(dreaming, run, sweep);
  const summary = {
    ...sweep.summary,
    ...(commit === undefined ? {} : { commit }),
    ...(refused ? { refused, promoted: 0 } : {}),
  };
  const next: PlannedSweep | undefined = await scheduleDream(schedules, agentId, sweep.at, configuration);
  await finishSweep(table, agentId, sweep, summary, next);
  const { scores, ...counts } = summary;
  log("dream.sweep", { agentId, ...counts, scores: scores?.join(" to ") });
  return summary;
}

/**
 * Changes a file. A file that cannot be changed (above 2 MB, or not text) stays unchanged, and the sweep continues.
 * @returns why it cannot be changed
 */
async function writeFile(
  workspace: Workspace,
  agentId: string,
  path: string,
  change: (content: string | undefined) => string,
  origins: readonly string[] | undefined,
): Promise<string | undefined> {
  try {
    await workspace.change(agentId, path, change, origins);
    return undefined;
  } catch (error) {
    if (!(error instanceof PeerError) || error.retryable) throw error;
    log("dream.refused", { agentId, path, reason: error.message });
    return error.message;
  }
}

/** Commits the workspace after the sweep. A failure is only logged. */
async function commitSweep(
  { bucket }: Dreaming,
  { agentId, configuration }: DreamRun,
  { at, promotions, summary }: BegunSweep,
): Promise<string | undefined> {
  if (!gitSettings(configuration, agentId).enabled) return undefined;
  const title = `promote: ${summary.promoted} of ${summary.candidates} memories`;
  const message = [title, ...(promotions.length > 0 ? ["", ...promotions.map(({ id }) => id)] : [])].join(
    "\n",
  );
  try {
    const { commitWorkspace } = await import("../git/workspace-commit.ts");
    return (await commitWorkspace(bucket, agentId, { message, at })).sha;
  } catch (error) {
    logError("dream.history", error, { agentId });
    return undefined;
  }
}
