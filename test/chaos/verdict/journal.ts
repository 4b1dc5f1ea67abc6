import { unmarshall } from "@aws-sdk/util-dynamodb";
import { isRecord } from "../../../local/http/json.ts";
import { itemKey } from "../faults/aws-call.ts";
import type { SeenCall } from "../faults/proxy.ts";
import type { RawResponse } from "./refusals.ts";

/** The history of a session's table items, in the order of the writes. */
export interface SessionJournal {
  /** Inbox entries in their order: id and text. */
  accepted: { id: string; text: string }[];
  /** Violations of fencing, in the order in which they happened. */
  violations: string[];
}

interface Followed extends SessionJournal {
  epoch: number;
  sessionId: string;
  head: number;
  /** Latest bodies of messages, by sort key. */
  bodies: Map<string, string>;
  /** Bodies of committed messages, by sort key. They must not change. */
  committed: Map<string, string>;
}

/** Follows every write to the sessions in the table, and records violations. */
export interface Journal {
  observe(call: SeenCall, response: RawResponse): void;
  of(sessionKey: string): SessionJournal;
  sessions(): string[];
  /** Bodies of a session's messages at their commit, by sort key. */
  committed(sessionKey: string): ReadonlyMap<string, string>;
}

/** @param onProgress called when a session's head has moved */
export function openJournal(onProgress: (sessionKey: string) => void): Journal {
  const sessions = new Map<string, Followed>();
  const follow = (sessionKey: string): Followed => {
    const known = sessions.get(sessionKey) ?? {
      accepted: [],
      violations: [],
      epoch: 0,
      sessionId: "",
      head: 0,
      bodies: new Map(),
      committed: new Map(),
    };
    sessions.set(sessionKey, known);
    return known;
  };
  return {
    observe(call, response) {
      if (call.service !== "dynamodb" || response.status !== 200) return;
      const key = itemKey(call.input ?? {});
      if (!key?.pk.startsWith("S#")) return;
      const session = follow(key.pk.slice(2));
      const before = session.head;
      if (key.sk === "META") observeState(session, call, response);
      else if (key.sk.startsWith("M#")) observeMessage(session, call, key.sk);
      if (session.head > before) onProgress(key.pk.slice(2));
    },
    of: follow,
    sessions: () => [...sessions.keys()],
    committed: (sessionKey) => follow(sessionKey).committed,
  };
}

/** Handles a write to the session's state item. */
function observeState(session: Followed, call: SeenCall, response: RawResponse): void {
  const written = writtenItem(call, response);
  if (!written || !Array.isArray(written.inbox)) return;
  const inbox = written.inbox.filter(isRecord).map(toWaiting);
  const isIn = (entries: readonly { id: string }[], { id }: { id: string }) =>
    entries.some((one) => one.id === id);
  session.accepted = isInOrder(session.accepted, inbox)
    ? [...session.accepted.filter((one) => !isIn(inbox, one)), ...inbox]
    : [...session.accepted, ...inbox.filter((entry) => !isIn(session.accepted, entry))];
  const epoch = Number(written.epoch);
  const head = Number(written.head);
  const sessionId = String(written.sessionId);
  if (epoch < session.epoch) session.violations.push(`the epoch fell from ${session.epoch} to ${epoch}`);
  if (sessionId === session.sessionId && head < session.head)
    session.violations.push(`the head fell from ${session.head} to ${head}`);
  Object.assign(session, { epoch, head, sessionId });
  for (const [sk, body] of session.bodies) {
    if (seqOf(sk, sessionId) <= head && !session.committed.has(sk)) session.committed.set(sk, body);
  }
}

interface Waiting {
  id: string;
  text: string;
  /** When it was written on the platform; NaN for other messages. */
  sentAt: number;
}

function toWaiting({ id, text = "", sentAt }: Record<string, unknown>): Waiting {
  return { id: String(id), text: String(text), sentAt: Number(sentAt) };
}

/** Whether an entry is before one that came earlier only if it was also written earlier (`orderEntry`). */
function isInOrder(accepted: readonly { id: string }[], inbox: readonly Waiting[]): boolean {
  const numbers = new Map(accepted.map(({ id }, number) => [id, number]));
  const numberOf = ({ id }: Waiting) => numbers.get(id) ?? accepted.length;
  return inbox.every((entry, at) =>
    inbox.slice(at + 1).every((later) => numberOf(entry) <= numberOf(later) || entry.sentAt <= later.sentAt),
  );
}

function observeMessage(session: Followed, call: SeenCall, sk: string): void {
  const committed = session.committed.get(sk);
  const by = `${call.worker.functionName} ${call.worker.number}`;
  if (call.operation === "DeleteItem" && committed !== undefined)
    session.violations.push(`${by} deleted the committed message ${sk}`);
  const item = call.operation === "PutItem" && isRecord(call.input) ? call.input.Item : undefined;
  if (!isRecord(item)) return;
  const { epoch: _, ...content } = unmarshall(item as never);
  const body = JSON.stringify(content);
  if (committed !== undefined && committed !== body)
    session.violations.push(`${by} changed the committed message ${sk}`);
  session.bodies.set(sk, body);
}

/** The item after a write. */
function writtenItem(call: SeenCall, { body }: RawResponse): Record<string, unknown> | undefined {
  if (call.operation === "PutItem") return unmarshall(call.input?.Item as never);
  if (call.operation !== "UpdateItem") return undefined;
  const { Attributes } = JSON.parse(body.toString()) as { Attributes?: never };
  return Attributes && unmarshall(Attributes);
}

/** The position of a message; infinite for one of another session id. */
function seqOf(sk: string, sessionId: string): number {
  const [, id, seq] = sk.split("#");
  return id === sessionId ? Number(seq) : Number.POSITIVE_INFINITY;
}
