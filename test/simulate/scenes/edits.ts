import { handleInbound } from "../../../shared/channels/inbound/inbound.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { metaKey, type SessionState } from "../../../shared/session/state.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import type { SceneAction } from "../load/actions.ts";
import { noTools, numbersIn, textOfScript } from "../load/script.ts";
import type { Scene, Stage } from "./scene.ts";

export const editActions = ["write", "write", "edit", "edit", "edit", "early", "late", "album"];

const sessionKey = "agent:main:main";
const address = { channel: "sim", accountId: "default" };
const picture = { type: "image", mimeType: "image/png", data: "iVBORw0KGgowMDAw" } as const;

/** Far from the numbers of other messages. Each version of a message has a number of its own. */
const firstNumber = 70_000;
const maxVersions = 100;

/** A version of a message; the first is the message, others are edits. */
interface Version {
  number: number;
  editedAt?: number;
  isAcknowledged?: boolean;
}

interface Message {
  id: number;
  sentAt: number;
  album?: string;
  versions: [Version, ...Version[]];
}

/** Somebody edits their messages while they wait, run or are on their way, sends albums, and has messages delivered in another order. */
export function createEdits({ ledger, peers, timeline, cloud, faults }: Stage): Scene {
  const messages: Message[] = [];
  const albums: Message[][] = [];
  const fault = (what: string) => ledger.fault(`edits: ${what}`);
  const main = () => cloud.store.get(metaKey(sessionKey)) as unknown as SessionState | undefined;
  const wrote = (more: Partial<Message> = {}): Message => {
    const id = messages.length;
    // A platform counts seconds: messages of one second are in the order of their ids.
    const sentAt = Math.floor(timeline.now / 1000) * 1000;
    const message: Message = { id, sentAt, versions: [{ number: firstNumber + id * maxVersions }], ...more };
    messages.push(message);
    return message;
  };
  const edited = (message: Message): Version => {
    const [first, ...edits] = message.versions;
    const last = edits.at(-1) ?? first;
    const version = { number: last.number + 1, editedAt: Math.max(timeline.now, (last.editedAt ?? 0) + 1) };
    message.versions.push(version);
    return version;
  };
  const deliver = async (request: string, message: Message, ms: number, version = message.versions[0]) => {
    const [{ id, sentAt, album }, { number, editedAt }] = [message, version];
    const peer = { kind: "dm", id: "me" } as const;
    version.isAcknowledged = await peers.insist(`${request}/${number}`, (world) =>
      handleInbound(peers.inboundOf(world), address, {
        ...{ eventId: eventOf(id), messageId: String(id), peer, sender: { id: "me" }, wasMentioned: true },
        ...{ text: textOfScript({ ...noTools, number, ms }), timestamp: sentAt },
        ...(album === undefined ? {} : { album, enclosed: [picture] }),
        ...(editedAt === undefined ? {} : { editedAt }),
      }),
    );
    if (version.isAcknowledged) checkPlace(id);
  };
  /** A message that was accepted comes before those in its inbox that were written later. The oldest, and its album, may have begun. */
  const checkPlace = (id: number) => {
    // An edit that is the message may still be on its way.
    if (messages[id]?.versions.some(({ isAcknowledged }) => !isAcknowledged)) return;
    const inbox = main()?.inbox ?? [];
    const albums = inbox.map((entry) => messages[numberOf(entry)]?.album);
    const held = albums.findLastIndex(
      (album, at) => at === 0 || (album !== undefined && album === albums[0]),
    );
    const waiting = inbox.slice(held + 1).map(numberOf);
    const passed = waiting.slice(0, Math.max(0, waiting.indexOf(id))).filter((other) => other > id);
    if (passed.length > 0) fault(`message ${id} comes after ${passed}`);
  };
  return {
    async prepare() {},
    async perform({ does, value }: SceneAction, id: string) {
      const ms = value * 5;
      const last = messages[value % Math.max(1, messages.length)];
      if (does === "edit" && last) await deliver(id, last, ms, edited(last));
      else if (does === "early") {
        const message = wrote();
        const early = deliver(id, message, ms, edited(message));
        await timeline.pass(value % 3 === 0 ? 0 : value * 2);
        await Promise.all([early, deliver(id, message, ms)]);
      } else if (does === "late") {
        const [first, second] = [wrote(), wrote()];
        const later = deliver(id, second, ms);
        await timeline.pass(value);
        await Promise.all([later, deliver(id, first, ms)]);
      } else if (does === "album") {
        const parts = [1, 2, 3].map(() => wrote({ album: id }));
        albums.push(parts);
        await Promise.all(parts.map((part) => deliver(id, part, ms)));
      } else await deliver(id, wrote(), ms);
    },
    written() {},
    async calm() {},
    isQuiet: () => true,
    async rest() {
      const said = (ledger.conversations.get(sessionKey) ?? [])
        .flatMap((conversation) => ledger.said.get(conversation) ?? [])
        .filter((message) => message.role === "user" && !readSummaryMessage(message))
        .map((message) => numbersIn(textOf(message)));
      for (const { id, versions } of messages) {
        const read = said.flat().filter((number) => versions.some((version) => version.number === number));
        const name = `message ${id} was read as ${read.map((number) => number % maxVersions)}`;
        if (read.some((number, at) => number <= (read[at - 1] ?? 0))) fault(name);
        const newest = versions.findLast(({ isAcknowledged }) => isAcknowledged)?.number ?? 0;
        if ((read.at(-1) ?? 0) < newest) fault(`${name}, and not as ${newest % maxVersions}`);
        const receipt = cloud.store.get({ pk: `RX#sim#default#${eventOf(id)}`, sk: "RECEIPT" });
        if (newest > 0 && receipt?.state !== "done") fault(`the receipt of message ${id} is not closed`);
      }
      if (faults.total > 0) return;
      for (const parts of albums.filter((one) => one.every(({ versions }) => versions.length === 1))) {
        const numbers = parts.map(({ versions }) => versions[0].number);
        const read = said.filter((message) => message.some((number) => numbers.includes(number)));
        if (read.length !== 1 || read[0]?.length !== numbers.length)
          fault(`an album was read as ${JSON.stringify(read)}`);
      }
    },
  };
}

const eventOf = (id: number) => `edits-${id}`;

/** The id of the message that an entry is; -1 for others. */
function numberOf({ id }: InboxEntry): number {
  return Number(/edits-(\d+)$/.exec(id)?.[1] ?? -1);
}
