import { hostname } from "node:os";
import { resolve } from "node:path";
import { readConfigFile, updateConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf, usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { ask, askHidden, confirm, readAll } from "../../app/questions.ts";
import { type Gateway, openGateway } from "../../gateway/gateway-client.ts";
import { machineId } from "../../gateway/machine-id.ts";
import { machineToken } from "../../gateway/machine-token.ts";
import { checkedNodeId } from "../node/node-settings.ts";

interface Answers {
  url: string;
  token: string;
  nodeId?: string;
  workspace?: string;
  sessionKey?: string;
}

export const init: Action = async (context, invocation) => {
  const { file } = await context.settings();
  const answers = await answersFor(context, invocation);
  await checkReplaced(context, answers, invocation.options.force === true);
  const token = invocation.options.test === false ? undefined : await test(context, answers);
  const tested = token !== undefined;
  await updateConfigFile(file, {
    gateway: { url: answers.url, token: token ?? answers.token },
    node: { id: answers.nodeId, workspace: answers.workspace },
    session: { default_key: answers.sessionKey },
  });
  context.print(
    { file, url: answers.url, tested },
    `${file} is written; try \`gsv status\` or \`gsv client\``,
  );
};

/**
 * Reads the answers from flags and asks the user for the rest. Without a terminal, url and token are
 * required.
 */
async function answersFor(context: Context, { options }: Invocation): Promise<Answers> {
  const { terminal, flags } = context;
  const settings = await context.settings();
  const nodeId = text(options.nodeId);
  const given = {
    nodeId: nodeId === undefined ? undefined : checkedNodeId(nodeId),
    workspace: text(options.workspace) && resolve(terminal.cwd, text(options.workspace) ?? ""),
    sessionKey: text(options.session),
  };
  if (terminal.stdin.isTTY !== true) {
    const url = flags.url ?? terminal.env.GSV_URL;
    const token =
      flags.token === "-" ? await readAll(terminal.stdin) : (flags.token ?? terminal.env.GSV_TOKEN);
    if (!url || !token)
      throw usage("no terminal: pass --url and --token (--token - reads it from standard input)");
    return { url: checkedUrl(url), token, ...given };
  }
  const url = flags.url ?? (await ask(terminal, "Gateway url (wss://…)", settings.url?.value));
  const kept = settings.url?.value === url ? settings.token?.value : undefined;
  const asked =
    flags.token && flags.token !== "-"
      ? flags.token
      : await askHidden(terminal, kept ? "Token (empty: keep)" : "Token");
  const token = asked || kept;
  if (!token) throw usage("the token is missing; the gateway's owner creates one with `gsv token create`");
  if (given.nodeId === undefined) {
    const preset = settings.nodeId ?? machineId(hostname());
    given.nodeId = checkedNodeId(await ask(terminal, "Name of this machine's node", preset));
  }
  return { url: checkedUrl(url), token, ...given };
}

/** Checks a gateway's address. @throws Failure (usage) when it is invalid */
export function checkedUrl(url: string): string {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" };
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol === "wss:" || (protocol === "ws:" && isHere)) return url;
  throw usage(`the gateway url must start with wss:// (or ws:// on this machine), not ${url || "nothing"}`);
}

/** Asks before it overwrites the token of another gateway, because the file may contain its only copy. */
async function checkReplaced(context: Context, { url }: Answers, force: boolean): Promise<void> {
  const { file } = await context.settings();
  const { gateway } = await readConfigFile(file);
  if (force || !gateway?.token || gateway.url === undefined || gateway.url === url) return;
  const holds = `${file} contains the token of another gateway, ${gateway.url}`;
  if (context.terminal.stdin.isTTY !== true)
    throw new Failure("config", `${holds}; --force replaces it, --config <file> writes a second file`);
  if (!(await confirm(context.terminal, `${holds}. Replace it?`)))
    throw new Failure("cancelled", "nothing was saved");
}

/**
 * Tests the connection. When it fails, the user may save anyway; without a terminal, throws.
 * @returns the token to save; undefined when the connection failed
 */
async function test(context: Context, { url, token }: Answers): Promise<string | undefined> {
  try {
    const gateway = await openGateway(url, token);
    try {
      context.note(`connected: gateway version ${gateway.hello.server.version}`);
      return gateway.hello.scopes?.includes("admin") ? await createMachineToken(context, gateway) : token;
    } finally {
      await gateway.close();
    }
  } catch (error) {
    const { kind, message } = failureOf(error);
    if (context.terminal.stdin.isTTY === true && !context.json) {
      context.note(`gsv: ${message}`);
      if (await confirm(context.terminal, "Save it anyway?")) return undefined;
      throw new Failure("cancelled", "nothing was saved");
    }
    throw new Failure(kind, `${message}; nothing was saved (--no-test saves without connecting)`);
  }
}

/** Creates this machine's token with a token that has the scope admin, which must not be stored. */
async function createMachineToken(context: Context, gateway: Gateway): Promise<string> {
  const { tokens } = await gateway.request("token.list");
  const { token, id, scopes } = await gateway.request("token.create", machineToken(tokens));
  context.note(
    `the given token may administer the gateway; saving ${id} instead, with the scopes ${scopes.join(", ")}`,
  );
  return token;
}
