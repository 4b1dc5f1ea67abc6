import type { Grant } from "../protocol/approvals.ts";
import { absent, add, equal, set } from "../world/expression.ts";
import { ConditionFailed, type ItemValue, type Table } from "../world/world.ts";

const key = { pk: "POLICY", sk: "GRANTS" };

/** The oldest ones are removed above this number. */
const maxGrants = 300;

/** A grant with the hash of the calls that it allows (`EqualCalls`). */
type StoredGrant = Grant & { equal: string };

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
      const steps = [set("grants", changed.slice(-maxGrants) as unknown as ItemValue), add("version", 1)];
      await table.update(key, steps, version === 0 ? absent("version") : equal("version", version));
      return true;
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

/** Stores a grant. Safe to repeat: a request makes one. */
export async function putGrant(table: Table, grant: Grant, equalCalls: string): Promise<void> {
  await change(table, (grants) =>
    grants.some(({ id }) => id === grant.id) ? undefined : [...grants, { ...grant, equal: equalCalls }],
  );
}

/** Where a call is made. */
interface Place {
  sessionKey: string;
  runId: string;
}

/** Whether a grant allows a call now, and counts its use. It reads the newest grants. */
export async function useGrant(
  table: Table,
  equalCalls: string,
  place: Place,
  now: number,
): Promise<boolean> {
  const isMine = (grant: StoredGrant) =>
    grant.equal === equalCalls &&
    (grant.scope === "always" || grant.sessionKey === place.sessionKey) &&
    (grant.scope !== "run" || grant.runId === place.runId);
  return change(table, (grants) => {
    const used = grants.find(isMine);
    return (
      used && grants.map((one) => (one === used ? { ...one, uses: one.uses + 1, lastUsedAt: now } : one))
    );
  });
}

/** All grants, oldest first. Those of runs that have ended allow nothing any more. */
export async function listGrants(table: Table): Promise<Grant[]> {
  return (await read(table)).grants.map(({ equal: _, ...grant }) => grant);
}

/** Removes a grant: the next call asks again. @returns false when there was none */
export function revokeGrant(table: Table, id: string): Promise<boolean> {
  return change(table, (grants) => {
    const left = grants.filter((one) => one.id !== id);
    return left.length === grants.length ? undefined : left;
  });
}
