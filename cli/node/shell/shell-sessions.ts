import { type ShellOptions, ShellSession } from "./shell.ts";

/** Retention of ended background sessions: time in ms, and max number. */
const keptMs = 30 * 60_000;
const keptCount = 50;

/** Called when a command is left in the background. `callId` is the call that started it. */
type BackgroundHandler = (session: ShellSession, callId: string) => void;

/** All commands of a node: foreground ones, and background ones, which the Process tool addresses by id. */
export class ShellSessions {
  readonly #onBackground: BackgroundHandler;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #groups = new Set<ShellSession>();
  readonly #background = new Map<string, ShellSession>();
  #stopped = false;

  /** @param environment environment of the commands; the node's token is removed from it */
  constructor(onBackground: BackgroundHandler = () => {}, environment = process.env) {
    this.#onBackground = onBackground;
    this.#environment = environment;
  }

  /** Starts a command. Rejects when the shell cannot be started. */
  async start(options: ShellOptions): Promise<ShellSession> {
    if (this.#stopped) throw new Error("the node is stopping");
    this.#forgetEmptyGroups();
    const session = new ShellSession(options, this.#environment);
    this.#groups.add(session);
    try {
      await session.started;
    } catch (error) {
      this.#groups.delete(session);
      throw new Error(`the shell could not be started: ${(error as Error).message}`);
    }
    return session;
  }

  /** Registers a running command under its id until 30 minutes after its end. */
  keep(session: ShellSession, callId: string): void {
    this.#background.set(session.sessionId, session);
    void session.ended.then(() => {
      this.#dropOldest();
      setTimeout(() => this.#background.delete(session.sessionId), keptMs).unref();
    });
    this.#onBackground(session, callId);
  }

  get(sessionId: string): ShellSession | undefined {
    return this.#background.get(sessionId);
  }

  /** The background sessions, oldest first. */
  list(): ShellSession[] {
    return [...this.#background.values()];
  }

  /** Terminates all commands and the processes they started. Later calls of `start` reject. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#groups].map((session) => session.kill()));
  }

  /** Like `stop`, but synchronous, for a process that is about to exit. */
  killNow(): void {
    this.#stopped = true;
    for (const session of this.#groups) session.killNow();
  }

  /** Forgets process groups that have no processes left, because the system may reuse their ids. */
  #forgetEmptyGroups(): void {
    for (const session of this.#groups) {
      if (session.status !== "running" && !session.alive) this.#groups.delete(session);
    }
  }

  #dropOldest(): void {
    const ended = this.list().filter((session) => session.status !== "running");
    for (const session of ended.slice(0, -keptCount)) this.#background.delete(session.sessionId);
  }
}
