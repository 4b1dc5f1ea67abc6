import { type Amounts, minus, plus, readAmounts, writeAmounts } from "./amounts.ts";
import type { Entry } from "./day-view.ts";

/** What a session's item knew of a day when a holder found it. */
export interface Found {
  /** The number of changes that its writer had made. */
  n: number;
  spent: Amounts;
  /** Present when its writer had not contributed. */
  open?: Open;
}

/**
 * A holder that has not contributed to the day's item yet. Until it has, a holder that has lost the lease can still reserve a
 * call there.
 */
export interface Open {
  /** Of the holder's lease. */
  epoch: number;
  found: Found;
}

/** Before a session has paid anything on a day. */
export const nothingFound: Found = { n: -1, spent: {} };

/** Of that many holders in a row that have ended without contributing, the oldest are known exactly. */
const maxOpen = 4;

/** Considers an earlier holder's entry. `lost`: what the session's item does not know of; the call may have been made. */
export function consider({ n, spent, open }: Found, entry: Entry): { found: Found; lost: Amounts } {
  if (open && entry.epoch < open.epoch) {
    const { found, lost } = consider(open.found, entry);
    return { found: { n, spent: plus(spent, lost), open: { ...open, found } }, lost };
  }
  const more = entry.n <= n ? [] : Object.entries(minus(entry.amounts, spent));
  const lost = Object.fromEntries(more.filter(([, amount]) => amount > 0));
  return { found: { n, spent: plus(spent, lost) }, lost };
}

/** What a holder stores until it has contributed. @param epoch of its lease */
export function openOf(found: Found, epoch: number): Open {
  return { epoch, found: found.open && depthOf(found) > maxOpen ? found.open.found : found };
}

function depthOf({ open }: Found): number {
  return open ? 1 + depthOf(open.found) : 1;
}

/** As a short text, `EPOCH,N,SPENT` for each holder. What is left out has spent the same as the later one. */
export function writeOpen({ epoch, found: { n, spent, open } }: Open, later: string): string {
  const text = writeAmounts(spent);
  const own = [epoch, n, ...(text === later ? [] : [text])].join();
  return open ? `${own}/${writeOpen(open, text)}` : own;
}

export function readOpen(text: string, later: string): Open {
  const [own = "", ...rest] = text.split("/");
  const [epoch, n, spent = later] = own.split(",");
  const open = rest.length > 0 ? { open: readOpen(rest.join("/"), spent) } : {};
  return { epoch: Number(epoch), found: { n: Number(n), spent: readAmounts(spent), ...open } };
}
