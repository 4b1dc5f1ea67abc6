import type { Grant } from "../protocol/approvals.ts";
import { absent, add, equal, set } from "../world/expression.ts";
import { ConditionFailed, type ItemValue, type Table } from "../world/world.ts";

const key = { pk: "POLICY", sk: "GRANTS" };

/** Above this number, the oldest ones of runs are removed first, then the oldest ones of sessions. */
const maxGrants = 300;

/** A grant with the hash of the calls that it allows (`EqualCalls`). */
type StoredGrant = Grant & {
  equal: string;
  /** The conversation of scopes `run` and `session`: a reset ends them. */
  sessionId?: string;
};

interface Stored {
  version: number;
  grants: StoredGrant[];
}

async function read(table: Table): Promise<Stored> {
  const item = await table.get(key);
  return { version: Number(item?.version ?? 0), grants: (item?.grants ?? []) as unknown as StoredGrant[] };
}

/** Changes the grants under the condition that nobody else has, so that a late write brings no revoked grant back. */
async function change(
  table: Table,
  next: (grants: StoredGrant[]) => StoredGrant[] | undefined,
): Promise<boolean> {
  for (;;) {
    const { version, grants } = await read(table);
    const changed = next(grants);
    if (!changed) return false;
    try {
      const steps = [set("grants", bounded(changed) as unknown as ItemValue), add("version", 1)];
      await table.update(key, steps, version === 0 ? absent("version") : equal("version", version));
      return true;
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

function bounded(grants: StoredGrant[]): StoredGrant[] {
  const over = new Set(
    (["run", "session", "always"] as const)
      .flatMap((scope) => grants.filter((one) => one.scope === scope))
      .slice(0, Math.max(0, grants.length - maxGrants)),
  );
  return grants.filter((one) => !over.has(one));
}

/** Where a call is made. */
interface Place {
  sessionKey: string;
  /** The conversation's id. */
  sessionId: string;
  runId: string;
}

/** Whether a grant counts at a place. */
function isFor(grant: StoredGrant, { sessionKey, sessionId, runId }: Place): boolean {
  if (grant.scope === "always") return true;
  if (grant.sessionKey !== sessionKey || grant.sessionId !== sessionId) return false;
  return grant.scope === "session" || grant.runId === runId;
}

/** Stores a grant, in place of those of its session that have ended. Safe to repeat: a request makes one. */
export async function putGrant(table: Table, grant: Grant, equalCalls: string, place: Place): Promise<void> {
  const stored = { ...grant, equal: equalCalls, ...(grant.scope === "always" ? {} : place) };
  await change(table, (grants) => {
    if (grants.some(({ id }) => id === grant.id)) return undefined;
    return [...grants.filter((one) => one.sessionKey !== place.sessionKey || isFor(one, place)), stored];
  });
}

/** Finds a grant that allows a call now, and counts its use. It reads the newest grants. @returns its id */
export async function useGrant(
  table: Table,
  equalCalls: string,
  place: Place,
  now: number,
): Promise<string | undefined> {
  let used: StoredGrant | undefined;
  await change(table, (grants) => {
    used = grants.find((one) => one.equal === equalCalls && isFor(one, place));
    return (
      used && grants.map((one) => (one === used ? { ...one, uses: one.uses + 1, lastUsedAt: now } : one))
    );
  });
  return used?.id;
}

/** The id of a grant that allows a call now. It counts no use. */
export async function findGrantFor(
  table: Table,
  equalCalls: string,
  place: Place,
): Promise<string | undefined> {
  return (await read(table)).grants.find((one) => one.equal === equalCalls && isFor(one, place))?.id;
}

/** All grants, oldest first. Those of runs that have ended allow nothing any more. */
export async function listGrants(table: Table): Promise<Grant[]> {
  return (await read(table)).grants.map(({ equal: _, sessionId: __, ...grant }) => grant);
}

/** Removes a grant: the next call asks again. @returns false when there was none */
export function revokeGrant(table: Table, id: string): Promise<boolean> {
  return change(table, (grants) => {
    const left = grants.filter((one) => one.id !== id);
    return left.length === grants.length ? undefined : left;
  });
}
