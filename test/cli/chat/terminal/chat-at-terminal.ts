import { afterEach } from "vitest";
import { newFolder } from "../../../support/run/test-folders.ts";
import { leaveTerminals, runGsvAtTerminal } from "../../../support/terminal/gsv-here.ts";
import { killTerminals, type PseudoTerminalOptions } from "../../../support/terminal/pseudo-terminal.ts";
import type { TerminalScreen } from "../../../support/terminal/terminal-screen.ts";
import { until } from "../../../support/until.ts";
import { assistant, type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";

const sessionKey = "agent:main:main";
const gateways = new Set<FakeGateway>();

afterEach(async () => {
  killTerminals();
  await leaveTerminals();
  for (const gateway of gateways) await gateway.close();
  gateways.clear();
});

/** A chat of `gsv` at a pseudo-terminal, with a gateway that the test controls. */
export interface ChatAtTerminal {
  terminal: TerminalScreen;
  gateway: FakeGateway;
  /** The folder of the chat, which is also its home. */
  folder: string;
  /** The messages that were sent, in order. */
  sent(): { message: string; runId: string; media: { type: string; filename: string }[] }[];
  /** Resolves with the run id of the `count`th message, counted from 1, when it has arrived. */
  runId(count: number): Promise<string>;
  /** Sends the next part of the reply to a message. */
  delta(runId: string, text: string, seq: number): void;
  final(runId: string, text: string): void;
}

/** Overrides of the defaults. */
export interface ChatSetup extends Partial<PseudoTerminalOptions> {
  methods?: Record<string, FakeMethod>;
  args?: string[];
  /** The address of the gateway's page. */
  page?: string;
  /** Whether the screen's text shows that the chat is ready; by default an empty prompt does. */
  isReady?: (text: string) => boolean;
  /**
   * Starts the program; by default in this process. A test of signals, of sizes or of another program at the same terminal
   * starts a process, and one of job control has a shell do it.
   */
  start?: (args: string[], options: PseudoTerminalOptions) => TerminalScreen;
}

/** The gateway's answer to a message that starts a run. */
export const started: FakeMethod = ({ params }) => ({ status: "started", runId: params.runId });
/** The gateway's answer to a message, which is "/stop" or starts a run. */
export const stoppable: FakeMethod = (request) =>
  request.params.message === "/stop"
    ? { status: "command", command: "stop", response: "Stopped run r." }
    : started(request);

/** Starts a chat, and waits for its prompt. */
export async function chatAtTerminal(setup: ChatSetup = {}): Promise<ChatAtTerminal> {
  const gateway = await startFakeGateway({
    "chat.send": started,
    "session.stats": () => ({ isProcessing: true, queueSize: 0 }),
    "session.get": () => ({ sessionKey }),
    "session.preview": () => ({ messages: [] }),
    ...setup.methods,
  });
  gateways.add(gateway);
  if (setup.page !== undefined) gateway.page = setup.page;
  const folder = setup.cwd ?? newFolder();
  const start = setup.start ?? runGsvAtTerminal;
  const terminal = start(["client", ...(setup.args ?? [])], {
    ...setup,
    cwd: folder,
    env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", ...setup.env },
  });
  await terminal.until(setup.isReady ?? ((text) => /^>$/m.test(text)), "a prompt");
  const sent = () =>
    gateway.requests
      .filter(({ method }) => method === "chat.send")
      .map(({ params }) => params as ReturnType<ChatAtTerminal["sent"]>[number]);
  return {
    ...{ terminal, gateway, folder, sent },
    runId: async (count) => {
      const { runId } = await until(() => sent()[count - 1], `message ${count} was sent`);
      return runId;
    },
    delta: (runId, text, seq) =>
      gateway.emit("chat", { runId, sessionKey, state: "delta", text, seq, attempt: 1, step: 0 }),
    final: (runId, text) =>
      gateway.emit("chat", { runId, sessionKey, state: "final", message: assistant(text) }),
  };
}
