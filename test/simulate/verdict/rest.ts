import { gunzipSync } from "node:zlib";
import { tableOver } from "../../../local/world/local-table.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { archiveKey, partTime } from "../../../shared/session/archive.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { readPreviousIds } from "../../../shared/session/previous-ids.ts";
import { isLeased, messageKey, metaKey, type SessionState, toState } from "../../../shared/session/state.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import type { Item } from "../../../shared/world/world.ts";
import { answerTo, readScript } from "../load/script.ts";
import type { Cloud } from "../world/cloud.ts";
import type { Sent as PlatformMessages } from "../world/platform.ts";
import { checkContext } from "./context-at-rest.ts";
import type { Ledger } from "./ledger.ts";
import { imagesOf } from "./model-request.ts";
import { checkObjects } from "./objects-at-rest.ts";

/** Attributes that only a session with work has. */
const passing = ["duePk", "dueAt", "run", "stop", "compacting", "resetting", "clearFrom"];

/**
 * Schedules that may be left: those of replaced intervals of a job or a heartbeat, up to 40 minutes, of transfers that ended
 * before their deadline, up to 10, and reminders of answered requests, up to an hour. They are ignored when they fire.
 */
const lasting = ["reset-due", "cron", "heartbeat", "tool-timeout", "approval-reminder"];

/** The owners may have changed this much earlier than an answer was due: a pause delays what follows from it. Milliseconds. */
const ownersMs = 120_000;

export interface Rest {
  ledger: Ledger;
  cloud: Pick<Cloud, "store" | "bucket" | "schedules">;
  sent: PlatformMessages;
  faults: number;
  now: number;
}

/** Checks everything once no work is in progress. */
export async function checkRest(rest: Rest): Promise<void> {
  const { ledger, cloud } = rest;
  for (const sessionKey of ledger.conversations.keys()) {
    const state = toState(cloud.store.get(metaKey(sessionKey)) as Item);
    checkIdle(rest, state);
    checkItems(rest, state);
    await checkPrevious(rest, state);
    checkMedia(rest, state);
    await checkContext(rest, state, liveOf(cloud, state));
    for (const id of ledger.conversations.get(sessionKey) ?? []) await checkConversation(rest, state, id);
  }
  for (const sent of ledger.entries.values()) checkEntry(rest, sent);
  for (const id of ledger.acknowledged)
    if (!ledger.entries.has(id)) ledger.fault(`${id} was acknowledged but never entered an inbox`);
  for (const { event } of cloud.schedules.values())
    if (!lasting.includes(event.kind)) ledger.fault(`a schedule is left: ${event.kind}`);
  for (const item of cloud.store.all()) checkReceipt(ledger, item as Item);
  const slots = cloud.store.get({ pk: "SLOTS", sk: "AGENTS" }) as Item | undefined;
  for (const left of [slots?.running ?? [], slots?.waiting ?? []].flat())
    ledger.fault(`a slot is left: ${JSON.stringify(left)}`);
}

function checkIdle({ ledger, now }: Rest, state: SessionState): void {
  const left = passing.filter((name) => name in state);
  // The lease of an agent that died in an idle session just expires.
  if (isLeased(state, now)) left.push("a lease");
  if (state.inbox.length > 0) left.push(`inbox (${state.inbox.length})`);
  if (state.inboxBytes !== 0) left.push(`inboxBytes ${state.inboxBytes}`);
  if (left.length > 0) ledger.fault(`${state.sessionKey}: an idle session still has ${left.join(", ")}`);
}

/** Every message was answered, failed or stopped, once, and the answer reached its sender. */
function checkEntry({ ledger, cloud, sent, faults }: Rest, one: EntryOf): void {
  const { id, entry, isTaken, outcome } = one;
  if (!isTaken) ledger.fault(`${id} was accepted but never processed`);
  if (entry.kind !== "message" || !isTaken || one.isPart) return;
  if (!outcome) {
    ledger.fault(`${id} was never answered`);
    return;
  }
  const told = ledger.told.get(id) ?? [];
  const end = outcome === "answered" ? "final" : "error";
  if (told.some((one) => one !== end)) ledger.fault(`${id} was ${outcome}, but clients received ${told}`);
  if (faults === 0 && told.length !== 1)
    ledger.fault(`clients received the end of ${id} ${told.length} times`);
  const { origin } = entry;
  if (origin.kind !== "channel" || outcome === "stopped") return;
  const delivery = outcome === "answered" ? id : `${id}:error`;
  const receipt = cloud.store.get({ pk: `TX#${delivery}`, sk: "0000" });
  // Who answers an owner sends nothing if there is none any more.
  const mayBeNobody = entry.role !== "guest" && ledger.ownersChangedAt > entry.at - ownersMs;
  if (receipt?.state !== "sent" && mayBeNobody) return;
  if (receipt?.state !== "sent" && receipt?.state !== "failed")
    ledger.fault(`the end of ${id} was not delivered: ${receipt?.state}`);
  const copies = sent.filter((one) => one.id === `${delivery}#0`).length;
  if (receipt?.state === "sent" && copies === 0) ledger.fault(`the end of ${id} never arrived`);
  if (faults === 0 && copies !== 1) ledger.fault(`the end of ${id} arrived ${copies} times`);
}
type EntryOf = Ledger["entries"] extends Map<string, infer T> ? T : never;

/** A session lists all its earlier conversations, oldest first. */
async function checkPrevious({ ledger, cloud }: Rest, state: SessionState): Promise<void> {
  const ended = ledger.conversations.get(state.sessionKey)?.slice(0, -1) ?? [];
  const told = await readPreviousIds(tableOver(cloud.store), state);
  if (told.join() !== ended.join())
    ledger.fault(`${state.sessionKey}: ${ended.length} conversations ended, but it lists ${told}`);
}

/** Besides the session's item, the table holds only the live messages, the earlier ids, and expiring items. */
function checkItems({ ledger, cloud }: Rest, { sessionKey, sessionId, first, head }: SessionState): void {
  const live = new Set<string>();
  for (let seq = first; seq <= head; seq++) live.add(messageKey(sessionKey, sessionId, seq).sk);
  for (const item of cloud.store.range({ pk: metaKey(sessionKey).pk })) {
    const sk = String(item.sk);
    if (live.delete(sk) || sk === "META" || item.expiresAt !== undefined) continue;
    if (sk.startsWith("PREVIOUS#")) continue;
    // An uncommitted message is overwritten by the next one.
    const next = messageKey(sessionKey, sessionId, head).sk;
    if (sk.startsWith(`M#${sessionId}#`) && sk > next) continue;
    ledger.fault(`${sessionKey}: ${sk} is left`);
  }
  for (const sk of live) ledger.fault(`${sessionKey}: ${sk} is missing`);
}

function checkMedia({ ledger, cloud }: Rest, state: SessionState): void {
  const keys = new Set(cloud.bucket.keys());
  for (const message of liveOf(cloud, state))
    for (const key of imagesOf(message)) if (!keys.has(key)) ledger.fault(`the image ${key} was deleted`);
}

function liveOf(
  { store }: Pick<Cloud, "store">,
  { sessionKey, sessionId, first, head }: SessionState,
): Message[] {
  const messages: Message[] = [];
  for (let seq = first; seq <= head; seq++) {
    const item = store.get(messageKey(sessionKey, sessionId, seq));
    if (item) messages.push(JSON.parse(String(item.body)) as Message);
  }
  return messages;
}

/** Archives and live messages together are all committed messages in order, and each answer follows its message. */
async function checkConversation(rest: Rest, state: SessionState, id: string): Promise<void> {
  const { ledger, cloud } = rest;
  const prefix = archiveKey(agentIdOf(state.sessionKey), id).replace(".jsonl.gz", "");
  const keys = cloud.bucket.keys().filter((key) => key.startsWith(prefix));
  const parts = keys.filter((key) => !Number.isNaN(partTime(key))).sort((a, b) => partTime(a) - partTime(b));
  const final = keys.filter((key) => key === `${prefix}.jsonl.gz`);
  const archived = (await Promise.all([...parts, ...final].map((key) => readAll(cloud, key)))).flat();
  const live = id === state.sessionId ? liveOf(cloud, state) : [];
  const kept = [...archived, ...live].filter((message) => !readSummaryMessage(message));
  const said = ledger.said.get(id) ?? [];
  if (JSON.stringify(kept.map(withTotal)) !== JSON.stringify(said.map(withTotal)))
    ledger.fault(`${state.sessionKey}: ${said.length} messages were said, and ${kept.length} are kept`);
  checkAnswers(ledger, said);
  await checkObjects(rest, state, id, said);
}

/** The archive of this release has another form of the cost than messages of the previous one. */
function withTotal(message: Message): unknown {
  if (message.role !== "assistant" || typeof message.usage?.cost !== "object") return message;
  return { ...message, usage: { ...message.usage, cost: message.usage.cost.total } };
}

async function readAll({ bucket }: Pick<Cloud, "bucket">, key: string): Promise<Message[]> {
  const object = await bucket.get(key);
  const lines = gunzipSync(object?.body ?? Buffer.alloc(0))
    .toString()
    .split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Message);
}

function checkAnswers(ledger: Ledger, said: readonly Message[]): void {
  let number: number | undefined;
  let answers = 0;
  for (const message of said) {
    const text = textOf(message);
    if (message.role === "user") {
      number = readScript(text)?.number;
      answers = 0;
    }
    const found = /answer to q\d+\./.exec(text)?.[0];
    if (message.role !== "assistant" || !found) continue;
    if (number === undefined || found !== answerTo(number)) ledger.fault(`q${number} has "${found}"`);
    if (++answers > 1) ledger.fault(`q${number} was answered more than once`);
  }
}

function checkReceipt(ledger: Ledger, item: Item): void {
  const pk = String(item.pk);
  if (pk.startsWith("OUT#")) ledger.fault(`the bridge did not get ${item.sk}`);
  if (
    pk.startsWith("RX#") &&
    item.state !== "done" &&
    ledger.acknowledged.has(pk.slice(3).replaceAll("#", ":"))
  )
    ledger.fault(`the receipt ${pk} is not closed`);
}
