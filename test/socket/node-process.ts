import fs from "node:fs";
import type { ConnectionState } from "../../cli/gateway/connection.ts";
import { RequestError } from "../../cli/gateway/request-error.ts";
import { Outbox, type OutboxConnection } from "../../cli/node/result-outbox.ts";
import { type JournalProcess, openJournal } from "../../cli/node/shell/command-journal.ts";
import { type CommandReports, startReports } from "../../cli/node/shell/command-reports.ts";
import type { ShellSession } from "../../cli/node/shell/shell.ts";
import { code } from "../../shared/protocol/errors.ts";
import type { HelloOk } from "../../shared/protocol/results.ts";
import { Killed, type Life } from "../agent/bench.ts";
import type { CommandBench } from "./command-bench.ts";

/** Above every process id of a system. */
let lastPid = 2 ** 30;

/** Loses the connection at the request of this number: before it arrives, or before its answer. */
export interface Cut {
  request: number;
  when: "before" | "after";
}

/**
 * One process of a node, as far as it reports background commands: the real outbox, journal and reports, whose calls of
 * the file system and of the gateway are the steps of its `life`. After the last step it does nothing.
 */
export class NodeProcess {
  readonly outbox: Outbox;
  readonly reports: CommandReports;
  readonly #commands: CommandBench;
  readonly #life: Life;
  readonly #cut: Cut | undefined;
  readonly #handlers = new Set<(state: ConnectionState) => void>();
  readonly #requests = new Set<Promise<unknown>>();
  #state: ConnectionState = { status: "idle" };
  #sent = 0;

  /** @throws Killed when it dies while it starts */
  constructor(commands: CommandBench, folder: string, life: Life, cut?: Cut) {
    this.#commands = commands;
    this.#life = life;
    this.#cut = cut;
    const journal = openJournal(folder, { url: "wss://gateway", nodeId: "laptop" }, mortalFiles(life));
    if (life.left <= 0) throw new Killed();
    this.outbox = new Outbox(this.#connection(), () => {});
    this.reports = startReports(this.outbox, journal, () => {});
  }

  /** Uses the node's connection. */
  connected(): void {
    this.#enter({ status: "connected", hello: {} as HelloOk });
  }

  /** Connects again after each lost connection, until no request is pending. */
  async settle(): Promise<void> {
    for (;;) {
      if (this.#state.status !== "connected") {
        await this.#commands.reconnect();
        this.connected();
      }
      await Promise.all(this.#requests);
      // The handling of an answer runs in between.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#requests.size === 0 && this.#state.status === "connected") return;
    }
  }

  #connection(): OutboxConnection {
    const state = () => this.#state;
    return {
      get state() {
        return state();
      },
      onState: (handler) => {
        this.#handlers.add(handler);
        return () => this.#handlers.delete(handler);
      },
      request: (method, params) => {
        const request = this.#request(method as "tool.result", params as object);
        const done = request.then(
          () => {},
          () => {},
        );
        this.#requests.add(done);
        void done.then(() => this.#requests.delete(done));
        // A dead process receives nothing.
        return request.catch((error) =>
          error instanceof Killed ? new Promise(() => {}) : fail(error),
        ) as never;
      },
    };
  }

  async #request(method: "tool.result" | "node.exec.event", params: object): Promise<unknown> {
    take(this.#life, "send");
    const cut = ++this.#sent === this.#cut?.request ? this.#cut.when : undefined;
    if (cut === "before") this.#lose();
    const answer = await this.#commands.request(method, params);
    if (cut === "after") this.#lose();
    take(this.#life, "hear");
    survive(this.#life);
    if (answer?.ok) return answer.payload;
    throw new RequestError(answer?.error?.code ?? code.internal, "refused", { retryable: false });
  }

  #lose(): never {
    this.#enter({ status: "waiting", reason: "lost", delayMs: 0 });
    throw new RequestError(code.notConnected, "the connection was lost", { retryable: true });
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    for (const handler of this.#handlers) handler(state);
  }
}

function fail(error: unknown): never {
  throw error;
}

function survive(life: Life): void {
  if (life.left <= 0) throw new Killed();
}

function take(life: Life, step: string): void {
  survive(life);
  life.left--;
  life.calls.push(step);
}

/** The file system of a process. If it dies during a write, half of the text is written. */
function mortalFiles(life: Life): JournalProcess {
  const files = new Proxy(fs, {
    get(of, name: keyof JournalProcess["files"]) {
      const call = of[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        take(life, name);
        if (name === "writeFileSync" && life.left <= 0) args[1] = String(args[1]).slice(0, 40);
        const result = call(...args);
        survive(life);
        return result;
      };
    },
  });
  return { pid: ++lastPid, files };
}

/** A background command that the test ends. */
export function fakeSession(sessionId: string): { session: ShellSession; end(): Promise<void> } {
  let resolve = () => {};
  const ended = new Promise<void>((done) => {
    resolve = done;
  });
  const fields = {
    sessionId,
    startedAt: 1,
    timedOut: false,
    signal: null,
    output: { text: "built\n" },
    ended,
  };
  const session = {
    ...fields,
    status: "running",
    exitCode: null as number | null,
    endedAt: undefined as unknown,
  };
  const end = async () => {
    Object.assign(session, { status: "completed", exitCode: 0, endedAt: 2 });
    resolve();
    await ended;
  };
  return { session: session as unknown as ShellSession, end };
}
