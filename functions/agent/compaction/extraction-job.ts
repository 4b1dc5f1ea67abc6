import { gitSettings } from "../../../shared/git/git-settings.ts";
import { readMemories } from "../../../shared/memory/memory-line.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { readArchive } from "../../../shared/session/archive.ts";
import {
  claimExtraction,
  type Extraction,
  endExtraction,
  renewExtraction,
  retryExtraction,
  startableExtractions,
  storeMemories,
  toLast,
} from "../../../shared/session/extraction.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import type { Bucket } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";

/** An extraction fails after this many attempts, about four hours after the first one. */
const maxTries = 10;

/** As many deaths as a run's step survives (docs/decisions/interrupted-steps.md). A sweep resumes it a minute after each. */
const maxDeaths = 8;

/** The wait before the second attempt; it doubles with each further one up to the longest. Milliseconds. */
const [firstWaitMs, longestWaitMs] = [60_000, 3_600_000];

/** Memories are extracted from the newest messages, up to this size in bytes of JSON. */
const maxBytes = 12_000_000;

/** Max length of a stored reason, in UTF-16 units. */
const maxReason = 300;

/** Time between renewals of the lease, which notice a stop. Milliseconds. */
const renewEveryMs = 2000;

/**
 * Carries out the extractions of a session that can be started now. Holds no lease on the session, which can be used
 * meanwhile.
 * @param hasTime whether the function has enough time left for a model call
 */
export async function carryOutExtractions(
  agent: Agent,
  sessionKey: string,
  hasTime: () => Promise<boolean>,
): Promise<void> {
  for (const found of await startableExtractions(agent.table, sessionKey, agent.now())) {
    if (!(await hasTime())) return;
    const held = await claimExtraction(agent.table, found, agent.now());
    if (held) await whileRenewing(agent, held, (signal) => carryOut(agent, held, signal));
  }
}

async function carryOut(agent: Agent, held: Extraction, signal: AbortSignal): Promise<void> {
  const { sessionKey, deaths, memories: stored } = held;
  if (deaths >= maxDeaths) return fail(agent, held, `it was interrupted ${deaths} times`);
  try {
    const found = stored === undefined ? await findMemories(agent, held, signal) : { memories: stored };
    if (signal.aborted) return;
    const { memories = "", error } = found;
    if (error !== undefined && (held.tries < maxTries || memories === ""))
      return await tryLater(agent, held, error);
    if (stored === undefined && !(await storeMemories(agent.table, held, memories))) return;
    await record(agent, held, memories);
  } catch (error) {
    logError("memories.interrupted", error, { sessionKey });
    await tryLater(agent, held, "an internal error; the agent's log has it");
  }
}

/** Asks the model for memories. `error`: the model could not read all of the conversation now. */
async function findMemories(
  agent: Agent,
  { sessionKey, sessionId, archive, at, origins }: Extraction,
  signal: AbortSignal,
): Promise<{ memories?: string; error?: string }> {
  const { extractMemories } = await import("./extract-memories.ts");
  const messages = await newestOf(agent.bucket, archive);
  const state = (await readSession(agent.table, sessionKey)) ?? { settings: {} };
  const from = { ...state, sessionKey, sessionId, updatedAt: at, ...(origins && { origins }) };
  return extractMemories(agent, from, messages, signal);
}

/** Appends the memories to the day's notes. The text is stored already, so a repeat appends nothing new. */
async function record(agent: Agent, held: Extraction, memories: string): Promise<void> {
  const { sessionKey, at } = held;
  const { appendDailyMemory } = await import("./extract-memories.ts");
  const text = memories === "" ? "" : await appendDailyMemory(agent, held, at, memories);
  await commitHistory(agent, held, held.queuedAt);
  const count = readMemories("", text).length;
  log("memories.recorded", { sessionKey, count, tries: held.tries });
  await tell(agent, await endExtraction(agent.table, held, { state: "done", count }, agent.now()));
}

async function tryLater(agent: Agent, held: Extraction, error: string): Promise<void> {
  const { tries, sessionKey } = held;
  const reason = error.slice(0, maxReason).toWellFormed();
  if (tries >= maxTries) return fail(agent, held, reason);
  const nextAt = agent.now() + Math.min(longestWaitMs, firstWaitMs * 2 ** (tries - 1));
  log("memories.retry", { sessionKey, tries, nextAt });
  const waiting = await retryExtraction(agent.table, held, reason, nextAt);
  if (tries === 1) await tell(agent, waiting);
}

async function fail(agent: Agent, held: Extraction, reason: string): Promise<void> {
  log("memories.failed", { sessionKey: held.sessionKey, tries: held.tries });
  await tell(agent, await endExtraction(agent.table, held, { state: "failed", reason }, agent.now()));
}

/** Tells the clients how an extraction stands. Undefined: somebody else has it, and tells them. */
async function tell({ broadcast }: Agent, extraction: Extraction | undefined): Promise<void> {
  if (!extraction) return;
  await broadcast.send(await broadcast.clients(), "memory.extracted", toLast(extraction));
}

/** Renews the lease while it does the work. The signal aborts when the extraction is stopped or taken over. */
async function whileRenewing(
  agent: Agent,
  held: Extraction,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const ended = new AbortController();
  const timer = setInterval(() => {
    renewExtraction(agent.table, held, agent.now()).then(
      (renewed) => void (renewed ?? ended.abort()),
      (error: unknown) => logError("memories.renew", error, { sessionKey: held.sessionKey }),
    );
  }, renewEveryMs);
  try {
    await work(ended.signal);
  } finally {
    clearInterval(timer);
  }
}

/** The newest messages of an archive: at most `maxBytes` of JSON, and the message that exceeds them. */
async function newestOf(bucket: Bucket, archive: string): Promise<Message[]> {
  const newest: { message: Message; bytes: number }[] = [];
  let total = 0;
  for await (const message of readArchive(bucket, archive)) {
    const bytes = Buffer.byteLength(JSON.stringify(message));
    newest.push({ message, bytes });
    total += bytes;
    while (total - (newest[0]?.bytes ?? 0) >= maxBytes) total -= newest.shift()?.bytes ?? 0;
  }
  return newest.map(({ message }) => message);
}

/** Commits the workspace to its Git history. A failure is only logged. */
export async function commitHistory(
  agent: Pick<Agent, "configuration" | "bucket">,
  { sessionKey, sessionId }: Pick<Extraction, "sessionKey" | "sessionId">,
  at: number,
): Promise<void> {
  try {
    const agentId = agentIdOf(sessionKey);
    const { enabled } = gitSettings(await agent.configuration.load(), agentId);
    if (!enabled) return;
    const { commitWorkspace } = await import("../../../shared/git/workspace-commit.ts");
    await commitWorkspace(agent.bucket, agentId, {
      message: `session-close: ${sessionKey} ${sessionId}`,
      at,
    });
  } catch (error) {
    logError("reset.history", error, { sessionKey });
  }
}
