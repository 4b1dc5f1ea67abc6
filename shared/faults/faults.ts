import type { InvocationWatch } from "../runtime/handler.ts";
import { log, loggedErrors } from "../runtime/log.ts";
import { set } from "../world/expression.ts";
import type { Table } from "../world/world.ts";

/**
 * What the owner must hear of: `errors` were logged, `invocations` are unusually many, or a session was `left`
 * with something to do. A function notes it in the table, where the watch of the timer function finds it.
 */
export type FaultKind = "errors" | "invocations" | "left";

export interface Fault {
  /** The function that is to be looked at. */
  name: string;
  kind: FaultKind;
  /** When it was noted last, epoch ms. */
  at: number;
}

const partition = "FAULT";

/** How long the watch tells of a fault after it was noted last, ms. */
const toldMs = 15 * 60_000;

/** A warm function notes the same kind of fault at most this often, ms. */
const noteEveryMs = 60_000;

/** Invocations of one warm function in a minute above which there are unusually many: ten a second. */
const manyInvocations = 600;

/** Notes one fault. A failure is logged and not thrown: the function's own work counts more. */
export async function recordFault(table: Pick<Table, "update">, { name, kind, at }: Fault): Promise<void> {
  const expiresAt = Math.floor((at + toldMs) / 1000);
  try {
    await table.update({ pk: partition, sk: `${name}#${kind}` }, [
      set("at", at),
      set("expiresAt", expiresAt),
    ]);
  } catch {
    log("fault.lost", { name, kind });
  }
}

/** The faults that were noted in the last quarter of an hour. */
export async function listFaults(table: Pick<Table, "query">, now: number): Promise<Fault[]> {
  const items = await table.query({ pk: partition });
  const faults = items.map(({ sk, at }) => {
    const [name = "", kind] = String(sk).split("#");
    return { name, kind: kind as FaultKind, at: Number(at) };
  });
  return faults.filter(({ at }) => at + toldMs > now);
}

/** Notes faults of one warm function: errors that it logged, and more than ten invocations a second. */
export function watchInvocations(
  table: Pick<Table, "update">,
  name: string,
  now: () => number,
): InvocationWatch {
  const notedAt = new Map<FaultKind, number>();
  let errors = loggedErrors();
  let minute = 0;
  let invocations = 0;
  const note = async (kind: FaultKind, at: number) => {
    if (at - (notedAt.get(kind) ?? Number.NEGATIVE_INFINITY) < noteEveryMs) return;
    notedAt.set(kind, at);
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
      if (hasFailed) await note("errors", at);
      if (invocations > manyInvocations) await note("invocations", at);
    },
  };
}
