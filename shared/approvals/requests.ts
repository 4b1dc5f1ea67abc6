import type { Approval, ApprovalAnswer, ApprovalState } from "../protocol/approvals.ts";
import type { PendingCall } from "../session/run.ts";
import { readSession } from "../session/sessions.ts";
import { requestsOf } from "../session/waiting.ts";
import { absent, all, equal, exists, set } from "../world/expression.ts";
import { type Item, type ItemValue, succeeds, type Table } from "../world/world.ts";

/** Requests are kept for this time. Seconds. */
const keptSeconds = 90 * 24 * 3600;

const open = "APPROVAL";

/** Requests that are read in parallel. */
const pageSize = 100;

const keyOf = (id: string) => ({ pk: `AP#${id}`, sk: "A" });

/** Stores a request. Safe to repeat: a request that was settled meanwhile stays so. */
export async function putRequest(table: Table, approval: Approval): Promise<void> {
  const { id, until } = approval;
  const expiresAt = Math.floor(until / 1000) + keptSeconds;
  const listed = { listPk: open, listSk: approval.createdAt };
  const item = { ...(approval as unknown as Item), ...keyOf(id), ...listed, expiresAt };
  await succeeds(table.put(item, absent("pk")));
  await table.put({ pk: open, sk: id, expiresAt: Math.ceil(until / 1000) });
}

/** Undefined when there is no such request. The session decides whether an open one still waits: `readCurrent`. */
export async function readRequest(table: Table, id: string): Promise<Approval | undefined> {
  const item = await table.get(keyOf(id));
  if (!item) return undefined;
  const { pk: _, sk: __, expiresAt: ___, listPk: ____, listSk: _____, ...approval } = item;
  return approval as unknown as Approval;
}

/**
 * Records how a request ended, and removes it from the open ones. Only the session's item decides that; this follows it. A
 * call that was allowed may later turn out not to run.
 */
export async function settleRequest(
  table: Table,
  id: string,
  state: Exclude<ApprovalState, "open">,
  answer?: ApprovalAnswer,
): Promise<void> {
  await recordEnd(table, id, state, answer);
  await table.delete({ pk: open, sk: id });
}

/** Records how a request ended. It leaves the open ones when the agent acts on the answer, or when they are listed. */
export async function recordEnd(
  table: Table,
  id: string,
  state: Exclude<ApprovalState, "open">,
  answer?: ApprovalAnswer,
): Promise<void> {
  const steps = [set("state", state), ...(answer ? [set("answer", answer as unknown as ItemValue)] : [])];
  const before = state === "void" ? "allowed" : "open";
  await succeeds(table.update(keyOf(id), steps, all(exists("pk"), equal("state", before))));
}

/** The requests that wait for an answer, oldest first. */
export async function listOpen(table: Table, now: number): Promise<Approval[]> {
  const items = await table.query({ pk: open });
  const read = await Promise.all(items.map(({ sk }) => readOpen(table, String(sk), now)));
  return read.flatMap((one) => (one ? [one] : [])).sort((a, b) => a.createdAt - b.createdAt);
}

/**
 * The newest requests, oldest first, also those that have ended.
 * @param sessionKey only those of this session
 */
export async function listRequests(
  table: Table,
  now: number,
  limit: number,
  sessionKey?: string,
): Promise<Approval[]> {
  const found: Approval[] = [];
  let after: Item | undefined;
  do {
    const page = { index: "list", pk: open, limit: pageSize, descending: true } as const;
    const rows = await table.queryIndex({ ...page, ...(after ? { after } : {}) });
    const ids = rows.map(({ pk }) => String(pk).slice("AP#".length));
    for (const one of await Promise.all(ids.map((id) => readCurrent(table, id, now))))
      if (one && (sessionKey === undefined || one.sessionKey === sessionKey)) found.push(one);
    after = rows.length < pageSize ? undefined : rows.at(-1);
  } while (after && found.length < limit);
  return found.slice(0, limit).reverse();
}

/** Number of requests that may wait: some may have ended. */
export async function countOpen(table: Table, now: number): Promise<number> {
  const items = await table.query({ pk: open, limit: 100 });
  return items.filter(({ expiresAt }) => Number(expiresAt) > now / 1000).length;
}

async function readOpen(table: Table, id: string, now: number): Promise<Approval | undefined> {
  const approval = await readCurrent(table, id, now);
  if (approval && approval.state !== "open") await table.delete({ pk: open, sk: id });
  return approval?.state === "open" && approval.until > now ? approval : undefined;
}

/**
 * A request as its session says, which decides. One that the session no longer has is recorded as ended: a process died between
 * the two writes.
 */
export async function readCurrent(table: Table, id: string, now: number): Promise<Approval | undefined> {
  const approval = await readRequest(table, id);
  if (approval?.state !== "open") return approval;
  const run = (await readSession(table, approval.sessionKey))?.run;
  const mine = requestsOf(run).find((one) => one.approval.id === id);
  // Until the session's own write, the time alone ends nothing.
  if (mine && !mine.approval.answer && run?.phase === "tools") return approval;
  const answer = mine?.approval.answer;
  const ended = approval.until <= now ? "unanswered" : "withdrawn";
  await settleRequest(table, id, answer ? stateOf(answer) : ended, answer);
  return readRequest(table, id);
}

/** The state that an answer leads to. */
export function stateOf({ decision }: ApprovalAnswer): "allowed" | "denied" {
  return decision === "allow" ? "allowed" : "denied";
}

/** The call of a request, as the run stores it. No node has such an id. @param tool by the model's name for it */
export function pendingRequest(
  { id, hash, createdAt: at, until, requester }: Approval,
  tool: string,
): PendingCall {
  const approval = { id, hash, at, until, ...(requester ? { requester } : {}) };
  return { nodeId: `approval/${id}`, tool, approval };
}
