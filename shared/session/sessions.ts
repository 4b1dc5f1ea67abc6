import { randomUUID } from "node:crypto";
import type { ModelRef, ResetPolicy, SessionSettingsPatch } from "../protocol/schemas.ts";
import type { SessionEntry } from "../protocol/session-results.ts";
import { absent, exists, remove, type Step, set } from "../world/expression.ts";
import { ConditionFailed, type Item, succeeds, type Table } from "../world/world.ts";
import { listFields, newestSessions } from "./due.ts";
import { agentIdOf } from "./key/session-key.ts";
import { metaKey, newSession, type SessionState, toState } from "./state.ts";

/** Reads a session's state. Undefined when the session does not exist yet. */
export async function readSession(table: Table, sessionKey: string): Promise<SessionState | undefined> {
  const item = await table.get(metaKey(sessionKey));
  return item && toState(item);
}

/** The fields that `session.patch` changes. Null removes a value; an absent field keeps its value. */
export interface SessionPatch {
  settings?: Omit<SessionSettingsPatch, "model"> & { model?: ModelRef | null };
  label?: string | null;
  resetPolicy?: ResetPolicy | null;
}

/**
 * Changes settings, label or reset policy. No lease is needed, because the agent never writes these
 * attributes. Creates the session when it does not exist.
 */
export async function patchSession(
  table: Table,
  sessionKey: string,
  patch: SessionPatch,
  now: number,
): Promise<SessionState> {
  const steps: Step[] = [];
  for (const [name, value] of Object.entries(patch.settings ?? {})) {
    if (value === null) steps.push(remove(["settings", name]));
    else if (value !== undefined) steps.push(set(["settings", name], value));
  }
  for (const name of ["label", "resetPolicy"] as const) {
    const value = patch[name];
    if (value === null) steps.push(remove(name));
    else if (value !== undefined) steps.push(set(name, value));
  }
  if (steps.length === 0) steps.push(set("sessionKey", sessionKey));
  for (;;) {
    try {
      return toState(await table.update(metaKey(sessionKey), steps, exists("pk")));
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
    await createSession(table, sessionKey, now);
  }
}

async function createSession(table: Table, sessionKey: string, now: number): Promise<void> {
  const state = newSession(sessionKey, randomUUID(), now) as unknown as Item;
  const key = metaKey(sessionKey);
  const item = { ...state, ...key, ...listFields(key, now) };
  await succeeds(table.put(item, absent("pk")));
}

/**
 * Sessions by last activity, newest first. The index is eventually consistent: a new session may be missing.
 */
export async function listSessions(table: Table, offset: number, limit: number): Promise<SessionEntry[]> {
  const items = await newestSessions(table, offset + limit);
  return items.slice(offset).map((item) => ({
    sessionKey: String(item.sessionKey),
    createdAt: Number(item.createdAt),
    lastActiveAt: Number(item.listSk),
    ...(typeof item.label === "string" ? { label: item.label } : {}),
  }));
}

/** The keys of all sessions of an agent, by last activity, newest first. A new session may be missing. */
export async function sessionsOfAgent(table: Table, agentId: string): Promise<string[]> {
  const keys = (await newestSessions(table)).map(({ sessionKey }) => String(sessionKey));
  return keys.filter((key) => agentIdOf(key) === agentId);
}
