import { set } from "../world/expression.ts";
import type { Table } from "../world/world.ts";
import type { InvocationWatch } from "./handler.ts";
import { log, loggedErrors } from "./log.ts";

/**
 * Faults that the owner must see: `errors` were logged, `invocations` are unusually many, or a session was `left`
 * unfinished. A function records the fault in the table, where the timer function's watch finds it.
 */
export type FaultKind = "errors" | "invocations" | "left";

export interface Fault {
  /** The function with the fault. */
  name: string;
  kind: FaultKind;
  /** When it was last recorded, epoch ms. */
  at: number;
}

const partition = "FAULT";

/** How long the watch reports a fault after it was last recorded, ms. */
const reportedMs = 15 * 60_000;

/** Minimum time between two records of the same kind of fault by one warm function, ms. */
const recordEveryMs = 60_000;

/** Invocations of one warm function per minute above which they are unusually many: ten a second. */
const manyInvocations = 600;

/** Records a fault. A failure is logged, not thrown, so that it does not disturb the function's work. */
export async function recordFault(table: Pick<Table, "update">, { name, kind, at }: Fault): Promise<void> {
  const expiresAt = Math.floor((at + reportedMs) / 1000);
  try {
    await table.update({ pk: partition, sk: `${name}#${kind}` }, [
      set("at", at),
      set("expiresAt", expiresAt),
    ]);
  } catch {
    log("fault.lost", { name, kind });
  }
}

/** The faults recorded in the last quarter of an hour. */
export async function listFaults(table: Pick<Table, "query">, now: number): Promise<Fault[]> {
  const items = await table.query({ pk: partition });
  const faults = items.map(({ sk, at }) => {
    const [name = "", kind] = String(sk).split("#");
    return { name, kind: kind as FaultKind, at: Number(at) };
  });
  return faults.filter(({ at }) => at + reportedMs > now);
}

/** Records faults of one warm function: logged errors, and more than ten invocations a second. */
export function watchInvocations(
  table: Pick<Table, "update">,
  name: string,
  now: () => number,
): InvocationWatch {
  const recordedAt = new Map<FaultKind, number>();
  let errors = loggedErrors();
  let minute = 0;
  let invocations = 0;
  const record = async (kind: FaultKind, at: number) => {
    if (at - (recordedAt.get(kind) ?? Number.NEGATIVE_INFINITY) < recordEveryMs) return;
    recordedAt.set(kind, at);
    await recordFault(table, { name, kind, at });
  };
  return {
    async ended() {
      const at = now();
      const started = Math.floor(at / 60_000);
      invocations = started === minute ? invocations + 1 : 1;
      minute = started;
      const hasFailed = loggedErrors() > errors;
      errors = loggedErrors();
      if (hasFailed) await record("errors", at);
      if (invocations > manyInvocations) await record("invocations", at);
    },
  };
}
