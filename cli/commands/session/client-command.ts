import { fstatSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { maxShownImageBytes } from "../../../shared/media/media-content.ts";
import { configFolder } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { exitCode, Failure, usage } from "../../app/failure.ts";
import { version } from "../../app/installation.ts";
import { text, texts } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { readAll } from "../../app/questions.ts";
import { onInterrupt } from "../../app/signals.ts";
import { isInteractive, isStyled, styleOf, type Terminal } from "../../app/terminal.ts";
import { type AttachedFile, readImage } from "../../chat/attached-files.ts";
import { Conversation } from "../../chat/conversation.ts";
import { followExtractions } from "../../chat/extraction-lines.ts";
import { followJobs } from "../../chat/job-answers.ts";
import { converse, converseByLine, type TurnSinks } from "../../chat/lines.ts";
import { followNotes, followOwnerNews } from "../../chat/owner-news.ts";
import { WaitingRow } from "../../chat/progress.ts";
import type { ChatOptions } from "../../chat/terminal/interactive.ts";
import { readLastExchange } from "../../chat/terminal/last-exchange.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

export const client: Action = async (context, { args, options }) => {
  const sessionKey = text(options.session) ?? (await context.settings()).sessionKey;
  const { terminal } = context;
  const given = args[0];
  const isLines = options.lines === true;
  if (isLines && given !== undefined)
    throw usage("--lines reads messages from standard input; remove the message argument");
  const isPlain = options.plain === true;
  const isChat = given === undefined && !isLines && isInteractive(terminal);
  const paths = texts(options.image);
  if (paths.length > 0 && (isChat || isLines))
    throw usage('--image needs a message: gsv client --image photo.jpg "what is this?"');
  const images = await Promise.all(paths.map((path) => readImage(path, terminal.cwd)));
  for (const { filename, bytes } of images) {
    if (bytes.byteLength > maxShownImageBytes)
      context.note(`gsv: ${filename} is stored, but the model cannot see it: its limit is 3.75 MB`);
  }
  if (isChat) {
    const greeting = `gsv ${version}, session ${sessionKey}\n/help lists commands; Ctrl-C stops a run, Ctrl-D leaves.\n`;
    const whenLeft = "the run continues, and its answer will be in the session";
    return chatAtTerminal(context, await context.gateway(false), sessionKey, { greeting, isPlain, whenLeft });
  }
  if (isLines) return chatByLine(context, await context.gateway(false), sessionKey, isPlain);
  const { stdin } = terminal;
  const message =
    given === undefined || given === "-"
      ? await wholeInput(stdin)
      : await withInput(given, stdin, (line) => context.note(line));
  return sayOnce(context, await context.gateway(false), sessionKey, { message, images, isPlain });
};

/** Runs a chat at the terminal until the user leaves or `leave` resolves. */
export async function chatAtTerminal(
  context: Context,
  gateway: Gateway,
  sessionKey: string,
  chosen: Pick<ChatOptions, "greeting" | "isPlain" | "whenLeft" | "leave" | "onNotice">,
): Promise<void> {
  const { terminal } = context;
  const session = await gateway.request("session.get", { sessionKey });
  const conversation = new Conversation(gateway, session.sessionKey);
  try {
    const historyFile = join(configFolder(terminal.env), "history");
    const { onState } = gateway;
    const onNodeChange: ChatOptions["onNodeChange"] = (handler) => gateway.onEvent("node.changed", handler);
    const onJobAnswer: ChatOptions["onJobAnswer"] = (show) => followJobs(gateway, session.sessionKey, show);
    const onNews: ChatOptions["onNews"] = (say) => {
      const ends = [
        followExtractions(gateway, session.sessionKey, say),
        followNotes(gateway, session.sessionKey, say),
      ];
      return () => {
        for (const end of ends) end();
      };
    };
    const { costLine } = await context.settings();
    const { chatInteractively } = await import("../../chat/terminal/interactive.ts");
    await chatInteractively({
      ...chosen,
      isPlain: chosen.isPlain || !isStyled(terminal, terminal.stdout),
      lastExchange: await readLastExchange(gateway, session.sessionKey),
      ...{
        conversation,
        terminal,
        historyFile,
        costLine,
        gateway,
        onState,
        onNodeChange,
        onNews,
        onJobAnswer,
      },
    });
  } finally {
    conversation.close();
  }
}

/** Sends each line of standard input as a message. @throws Failure when a message failed, and after Ctrl-C */
export async function chatByLine(
  context: Context,
  gateway: Gateway,
  sessionKey: string,
  isPlain: boolean,
): Promise<void> {
  const lines = createInterface({ input: context.terminal.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const all = await sinksOf(context, isPlain);
  const outcomes = await withConversation(
    context,
    gateway,
    sessionKey,
    all,
    (conversation, sinks, signal) => {
      signal.addEventListener("abort", () => lines.close());
      return converseByLine(conversation, lines, sinks, signal);
    },
  );
  if (outcomes.some(({ status }) => status === "failed")) throw reported();
}

async function sayOnce(
  context: Context,
  gateway: Gateway,
  sessionKey: string,
  { message, images, isPlain }: { message: string; images: readonly AttachedFile[]; isPlain: boolean },
): Promise<void> {
  const all = await sinksOf(context, isPlain);
  const outcome = await withConversation(context, gateway, sessionKey, all, (conversation, sinks) =>
    converse(conversation, message, sinks, images),
  );
  if (outcome.status === "failed") throw reported();
}

/** Runs `use` with a conversation that Ctrl-C stops. @throws Failure after Ctrl-C */
async function withConversation<T>(
  context: Context,
  gateway: Gateway,
  sessionKey: string,
  sinks: TurnSinks,
  use: (conversation: Conversation, sinks: TurnSinks, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const conversation = new Conversation(gateway, sessionKey);
  const { waiting, reply } = sinks;
  const noteAlone = (text: string) => {
    waiting.clear();
    context.note(text);
    waiting.draw();
  };
  const note = (text: string) => (reply ? reply.around(() => noteAlone(text)) : noteAlone(text));
  const undo = [
    gateway.onState((state) => {
      if (state.status === "waiting") note(`gsv: connection lost (${state.reason}); reconnecting …`);
    }),
    followOwnerNews(gateway, sessionKey, (line) => note(`gsv: ${line}`)),
  ];
  const interruption = stopAtInterrupt(conversation, note, (isStopping) => waiting.stopping(isStopping));
  try {
    const result = await use(conversation, sinks, interruption.signal);
    if (interruption.signal.aborted) throw reported(exitCode.interrupted);
    return result;
  } finally {
    interruption.dispose();
    for (const end of undo) end();
    conversation.close();
  }
}

async function sinksOf({ terminal, json }: Context, isPlain: boolean): Promise<TurnSinks> {
  const { stdout, stderr } = terminal;
  const style = styleOf(terminal, stderr);
  const sinks = { answer: stdout, activity: stderr, json, style, waiting: new WaitingRow(stderr, style.dim) };
  if (json || isPlain || !isStyled(terminal, stdout)) return sinks;
  const [{ StreamedReply }, { markdownLayout }] = await Promise.all([
    import("../../chat/terminal/streamed-reply.ts"),
    import("../../chat/terminal/markdown.ts"),
  ]);
  return { ...sinks, reply: new StreamedReply(stdout, markdownLayout()) };
}

/** A Failure without a message, which only sets the exit code: the turn's outcome has already been printed. */
function reported(code: number = exitCode.failed): Failure {
  return new Failure("turn", "", code);
}

type Input = Terminal["stdin"] & { fd?: number };

/** Time without input after which the user is informed, ms. */
const inputWaitMs = 3000;

/**
 * Reads standard input, without its final line breaks.
 * @throws Failure (usage) when it is empty or not text
 */
async function wholeInput(stdin: Input): Promise<string> {
  const input = textOf(await readAll(stdin));
  if (input === "") throw usage("standard input is empty; nothing was sent");
  return input;
}

/**
 * Appends the text of standard input, if any, to a message. Does not read a terminal. Gives up on a socket that sends
 * nothing, because programs pass on their own input as a socket that is never closed.
 * @param note informs the user about a long wait
 * @throws Failure (usage) when it is not text
 */
export async function withInput(
  message: string,
  stdin: Input,
  note: (text: string) => void,
  waitMs = inputWaitMs,
): Promise<string> {
  if (stdin.isTTY) return message;
  const input = readAll(stdin);
  const isLeft = await new Promise<boolean>((resolve, reject) => {
    const late = () => {
      resolve(isSocket(stdin));
      if (isSocket(stdin)) note("gsv: no data on standard input; sending the message without it");
      else note("gsv: waiting for the end of standard input (add </dev/null for no input)");
    };
    const timer = setTimeout(late, waitMs);
    stdin.once("data", () => clearTimeout(timer));
    const end = () => {
      clearTimeout(timer);
      resolve(false);
    };
    input.then(end, (error: unknown) => {
      end();
      reject(error);
    });
  });
  if (isLeft) return message;
  const text = textOf(await input);
  return text === "" ? message : `${message}\n\n${text}`;
}

function textOf(input: string): string {
  if (input.includes("\0"))
    throw usage("standard input is not text; send a file with `gsv cp`, an image with --image");
  return input.replace(/(\r?\n)+$/, "");
}

function isSocket({ fd }: Input): boolean {
  return fd !== undefined && fstatSync(fd).isSocket();
}

/** The handling of Ctrl-C for a conversation outside the interactive chat. */
interface Interruption {
  /** Aborted by the first Ctrl-C: no further message is sent. */
  signal: AbortSignal;
  /** Restores the usual effect of Ctrl-C. */
  dispose(): void;
}

/**
 * Until `dispose`, the first Ctrl-C stops the run of the current message, and the second closes the conversation while the
 * run continues. `note` prints a line for the user. `stopping` is called with true when a stop is requested, and with
 * false when it failed.
 */
function stopAtInterrupt(
  conversation: Conversation,
  note: (text: string) => void,
  stopping: (isStopping: boolean) => void,
): Interruption {
  const controller = new AbortController();
  /** Reports a failed stop, unless the message already has its outcome. */
  const reportFailure = (text: string) => {
    stopping(false);
    if (conversation.active > 0) note(`gsv: ${text} (Ctrl-C again leaves)`);
  };
  const stop = async () => {
    if (!(await conversation.stopOwn())) reportFailure("the message is still queued; nothing was stopped");
  };
  const dispose = onInterrupt(() => {
    if (controller.signal.aborted) {
      conversation.close();
      return;
    }
    controller.abort();
    if (conversation.active === 0) return;
    stopping(true);
    stop().catch(({ message }: Error) => reportFailure(`not stopped: ${message}`));
  });
  return { signal: controller.signal, dispose };
}
