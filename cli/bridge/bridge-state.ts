import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SessionInfo } from "@discordjs/ws";

/** Channels whose newest message is remembered; the one without messages for longest is dropped. */
const maxChannels = 500;

/** A message of Discord, by its channel and id. */
export interface MessagePlace {
  channel: string;
  id: string;
}

interface Stored {
  /** The session with the last event that was handled. */
  session?: SessionInfo;
  /** The intents with which the session began. */
  intents?: number;
  /** What was written before the session is still to be read. */
  isBehind?: boolean;
  /** The newest handled message of each channel; the channel of the last one comes last. */
  newest: Record<string, string>;
}

/**
 * How far a bridge has read, in a file that is replaced atomically. A process that begins again resumes the session, and
 * Discord repeats what came after `session.sequence`.
 */
export class BridgeState {
  readonly #file: string;
  readonly #stored: Stored;

  constructor(file: string) {
    this.#file = file;
    this.#stored = read(file);
  }

  /** The session to resume. Undefined when it began with other intents, which also decide what Discord sends after a resume. */
  sessionWith(intents: number): SessionInfo | undefined {
    return this.#stored.intents === intents ? this.#stored.session : undefined;
  }

  /** Whether messages from before the session may be missing. */
  get isBehind(): boolean {
    return this.#stored.isBehind === true;
  }

  /** The newest handled message of each channel. */
  get newest(): MessagePlace[] {
    return Object.entries(this.#stored.newest).map(([channel, id]) => ({ channel, id }));
  }

  /**
   * Records that a message is handled, or all events of a session up to its `sequence`, or whether messages from before it are,
   * or with which intents the session began.
   * @throws an error of the file system; then the event is handled again after the next start
   */
  handled({ session, intents, message, isBehind }: Handled): void {
    if (session) this.#stored.session = session;
    if (intents !== undefined) this.#stored.intents = intents;
    if (isBehind !== undefined) this.#stored.isBehind = isBehind;
    if (message) this.#stored.newest = withNewest(this.#stored.newest, message);
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    const temporary = `${this.#file}.tmp`;
    writeFileSync(temporary, JSON.stringify(this.#stored), { mode: 0o600 });
    renameSync(temporary, this.#file);
  }
}

interface Handled {
  session?: SessionInfo;
  intents?: number;
  message?: MessagePlace;
  isBehind?: boolean;
}

function withNewest(newest: Stored["newest"], { channel, id }: MessagePlace): Stored["newest"] {
  const { [channel]: before = "0", ...others } = newest;
  const latest = BigInt(id) > BigInt(before) ? id : before;
  return Object.fromEntries([...Object.entries(others), [channel, latest]].slice(-maxChannels));
}

/** A file that is absent or damaged is an empty state: the bridge then reads from now on. */
function read(file: string): Stored {
  try {
    return { newest: {}, ...(JSON.parse(readFileSync(file, "utf8")) as Partial<Stored>) };
  } catch {
    return { newest: {} };
  }
}
