import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { Dev } from "../../../local/dev/dev.ts";
import { openLogs } from "../../../local/dev/dev-logs.ts";
import type { ModelChoice } from "../../../local/dev/dev-model.ts";
import { type RunningGateway, runningGateway } from "../../../local/dev/dev-state.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { version } from "../../app/installation.ts";
import { text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { untilSignal } from "../../app/signals.ts";
import { isInteractive } from "../../app/terminal.ts";
import type { ChatOptions } from "../../chat/terminal/interactive.ts";
import { folderText, fullFolderText } from "../../gateway/data-folder.ts";
import { type Gateway, openGateway } from "../../gateway/gateway-client.ts";
import { chosenModel, configureModel, type ModelInUse, startLocal } from "../../gateway/local-gateway.ts";
import { machineId } from "../../gateway/machine-id.ts";
import { startUnderFreeId } from "../../node/free-id.ts";
import type { NodeOptions, RunningNode } from "../../node/node-runtime.ts";
import { idTaken } from "../node/node-command.ts";
import { chatAtTerminal, chatByLine } from "../session/client-command.ts";

/**
 * Max growth of the heap before garbage is collected, in percent of the used memory. By default, V8 lets a small heap grow
 * to several times the used memory, and a process that runs for days does not return it.
 */
const heapGrowingPercent = 25;

/** Time in which the chat and the node must stop after a signal, in milliseconds. */
const leaveMs = 3000;

/** Options of `gsv dev` that need a gateway of its own. */
const ownGatewayOptions = ["serve", "port", "webhookUrl", "allowHost", "fsync"];

export const dev: Action = async (context, { options }) => {
  const port = wholeNumber("--port", options.port, 0, 65_535);
  const webhookUrl = publicUrl(text(options.webhookUrl));
  const choice = chosenModel(context.terminal.env);
  const environment = withoutKey(context.terminal.env, choice?.apiKey);
  const asksOnly = !isInteractive(context.terminal) && !ownGatewayOptions.some((name) => options[name]);
  const other = asksOnly ? await runningGateway(context.dataFolder) : undefined;
  if (other !== undefined) return joinGateway(context, other, options.plain === true);
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
  const signal = untilSignal();
  const notices = openNotices(context);
  let running: Dev | undefined;
  try {
    running = await startLocal(context.dataFolder, {
      port,
      webhookUrl,
      hosts: hostNames(text(options.allowHost)),
      fsync: options.fsync === true,
      onStoreError: (message) => notices.show(`${message}; accepted messages are kept and answered later`),
      onAdminCode: (code) =>
        notices.show(`a command on this machine asks for admin rights; if it is yours, type ${code} there`),
    });
    const { received } = signal;
    const served =
      options.serve === true
        ? serveOnly(context, running, choice, received)
        : serveAndChat(
            context,
            running,
            { choice, environment, isPlain: options.plain === true, onNotice: notices.follow },
            received,
          );
    // After a signal, do not wait forever for an answer of the gateway.
    await Promise.race([served, received.then(() => sleep(leaveMs, undefined, { ref: false }))]);
  } finally {
    await running?.close();
    signal.dispose();
  }
};

/**
 * Sends standard input to the gateway that already runs in the data folder, as a client.
 * @throws Failure when that gateway has another version
 */
async function joinGateway(context: Context, running: RunningGateway, isPlain: boolean): Promise<void> {
  const folder = folderText(context.dataFolder, context.terminal);
  const gateway = await openGateway(running.url, running.token);
  try {
    const { version: other } = gateway.hello.server;
    if (other !== version)
      throw new Failure(
        "running",
        `gsv ${other} already runs in ${folder} (pid ${running.pid}), and this is gsv ${version}; restart it, or ask it with \`gsv client\``,
      );
    context.note(`gsv ${version}: asking the gateway that runs in ${folder} (pid ${running.pid})`);
    await chatByLine(context, gateway, (await context.settings()).sessionKey, isPlain);
  } finally {
    await gateway.close();
  }
}

/** Checks --webhook-url and adds a trailing slash. @throws Failure (usage) */
function publicUrl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw usage(`--webhook-url must be an http or https address, not ${value}`);
  return value.endsWith("/") ? value : `${value}/`;
}

/** The names in --allow-host, separated by commas. @throws Failure (usage) */
function hostNames(value = ""): string[] {
  const names = value
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== "");
  const fault = names.find((name) => !/^[a-z0-9.-]+$/.test(name));
  if (fault === undefined) return names;
  throw usage(`--allow-host must be names of hosts without port, separated by commas, not ${fault}`);
}

/** Copies an environment without the API key, which the gateway now stores as a secret. */
function withoutKey(environment: NodeJS.ProcessEnv, key: string | undefined): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([, value]) => key === undefined || value !== key);
  return Object.fromEntries(kept);
}

type Choice = ModelChoice | undefined;
type Received = Promise<NodeJS.Signals>;

interface ServeOptions {
  choice: Choice;
  environment: NodeJS.ProcessEnv;
  isPlain: boolean;
  onNotice: NonNullable<ChatOptions["onNotice"]>;
}

/** Sends the gateway's notices to the chat while there is one, else to standard error. */
function openNotices(context: Context) {
  const note = (line: string) => context.note(line);
  let show = note;
  return {
    show: (line: string) => show(line),
    follow(inChat: (line: string) => void) {
      show = inChat;
      return () => {
        show = note;
      };
    },
  };
}

async function serveOnly(context: Context, running: Dev, choice: Choice, ended: Received): Promise<void> {
  const gateway = await openGateway(running.url, running.token);
  const model = await configureModel(running, choice);
  await writeFirstFiles(gateway, running);
  await gateway.close();
  const { ws, webhook, openai, mcp, page } = running.cloud;
  const ready = {
    ws,
    webhook,
    openai,
    mcp,
    page,
    token: running.token,
    pid: process.pid,
  };
  introduce(context, running, model);
  const { url: configured } = await context.settings();
  // A configured gateway takes precedence over the local one, unless --data names its folder.
  const folder = folderText(context.dataFolder, context.terminal);
  const client =
    configured || context.flags.data !== undefined ? `gsv client --data ${folder}` : "gsv client";
  context.print(
    ready,
    `serving at ${ws}\n  webhook  ${webhook}\n  openai   ${openai}\n  mcp      ${mcp}\n  page     ${page}\n  pid      ${process.pid}\n\`${client}\` in this folder, or in one below it, connects to it; Ctrl-C ends it.`,
  );
  await ended;
}

async function serveAndChat(
  context: Context,
  running: Dev,
  { choice, environment, isPlain, onNotice }: ServeOptions,
  ended: Received,
): Promise<void> {
  const gateway = await openGateway(running.url, running.token);
  let node: RunningNode | undefined;
  try {
    const model = await configureModel(running, choice);
    introduce(context, running, model);
    const { code } = await gateway.request("code.create", {});
    context.note(`page: ${running.cloud.page}/#c=${code} (works once; later: \`gsv open\`)`);
    await writeFirstFiles(gateway, running);
    node = await lendFolder(context, running, environment);
    await node.connection.open();
    await chat(context, gateway, { isPlain, onNotice }, ended);
  } finally {
    await node?.stop();
    await gateway.close();
  }
}

/** Writes the agent's initial files at the first start of a data folder. */
async function writeFirstFiles(gateway: Gateway, running: Dev): Promise<void> {
  if (running.hasAgent) return;
  await gateway.request("agent.init", {});
  await running.recordAgent();
}

async function chat(
  context: Context,
  gateway: Gateway,
  { isPlain, onNotice }: Pick<ServeOptions, "isPlain" | "onNotice">,
  ended: Received,
): Promise<void> {
  const { sessionKey } = await context.settings();
  if (!isInteractive(context.terminal)) {
    await Promise.race([chatByLine(context, gateway, sessionKey, isPlain), ended]);
    return;
  }
  const greeting = `session: ${sessionKey}\n/help lists commands; Ctrl-C stops a run, Ctrl-D leaves.\n`;
  const whenLeft =
    "the gateway stops with this chat, and so do commands on this machine; the run continues at the next start";
  await chatAtTerminal(context, gateway, sessionKey, { greeting, isPlain, whenLeft, onNotice, leave: ended });
}

/** Starts a node for the current folder. It logs to the data folder, not to the chat. */
function lendFolder(context: Context, running: Dev, environment: NodeJS.ProcessEnv): Promise<RunningNode> {
  const log = openLogs(join(context.dataFolder, "logs"));
  const node: NodeOptions = {
    url: running.url,
    token: running.token,
    nodeId: machineId(hostname()),
    workspace: context.terminal.cwd,
    version,
    environment,
    onLog: (line) => log("node", line),
  };
  return startUnderFreeId(node, (taken, next) => context.note(idTaken(taken, next)));
}

function introduce(context: Context, running: Dev, { settings, because }: ModelInUse): void {
  const folder = fullFolderText(context.dataFolder, context.terminal);
  context.note(
    running.isNew
      ? `gsv ${version}: all data is in ${folder}; delete that folder to start over`
      : `gsv ${version}: continuing with the data in ${folder}`,
  );
  context.note(`model: ${settings.provider}/${settings.id} (${because})`);
  if (settings.id === "offline")
    context.note(
      "       for a real model, set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY,\n       or GSV_MODEL_BASE_URL and GSV_MODEL for any OpenAI-compatible server",
    );
}
