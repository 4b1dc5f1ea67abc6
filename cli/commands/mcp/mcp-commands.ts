import { setTimeout } from "node:timers/promises";
import { type McpProbe, serverClasses } from "../../../shared/protocol/mcp.ts";
import { showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { columns, moment, shorten } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { askHidden, readAll } from "../../app/questions.ts";

/** How often a login that waits for the browser is looked at, in milliseconds. */
const lookMs = 2000;

export const addServer: Action = async (context, { args: [name = "", url = ""], options }) => {
  const least = serverClasses.find((one) => one === options.class);
  if (options.class !== undefined && least === undefined)
    throw usage(`--class: expected ${serverClasses.join(", ")}`);
  const token = await tokenOf(context, text(options.bearer));
  const gateway = await context.gateway();
  const probe = await gateway.request("mcp.add", {
    ...{ name, url },
    ...(token === undefined ? {} : { token }),
    ...(least === undefined ? {} : { class: least }),
  });
  context.print(probe, `${name} is added\n${probeText(probe)}`);
};

async function tokenOf({ terminal }: Context, given: string | undefined): Promise<string | undefined> {
  if (given !== "-") return given;
  return terminal.stdin.isTTY ? askHidden(terminal, "Token") : readAll(terminal.stdin);
}

/** Prints the address at once, and waits until the browser has returned. */
export const loginServer: Action = async (context, { args: [name = ""] }) => {
  const gateway = await context.gateway();
  const { address, until } = await gateway.request("mcp.login", { name });
  context.note(`Open this address in a browser, before ${moment(until)}:\n${address}`);
  for (;;) {
    const result = await gateway.request("mcp.login.finish", { name });
    if (result.status === "done") return context.print(result, probeText(result));
    if (Date.now() > until)
      throw new Failure("timeout", `nobody has logged in in time: run gsv mcp login ${name} again`);
    await setTimeout(lookMs);
  }
};

export const listServers: Action = async (context) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("mcp.list", {});
  const rows = answer.servers.map((one) => [
    one.name,
    one.enabled ? String(one.tools ?? "-") : "off",
    one.class,
    one.needsLogin ? "login over" : one.auth,
    moment(one.listedAt),
    one.url,
  ]);
  const header = ["NAME", "TOOLS", "CLASS", "LOGIN", "LISTED", "ADDRESS"];
  context.print(answer, rows.length > 0 ? columns(header, rows) : "no server; gsv mcp add NAME URL adds one");
};

export const listTools: Action = async (context, { args: [name] }) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("mcp.tools", name === undefined ? {} : { name });
  const rows = answer.tools.map((one) => [one.name, one.class, shorten(showHidden(one.description), 80)]);
  const none = "no tools; gsv mcp probe NAME asks a server for them";
  context.print(answer, rows.length > 0 ? columns(["TOOL", "CLASS", "DESCRIPTION"], rows) : none);
};

export const probeServer: Action = async (context, { args: [name = ""] }) => {
  const gateway = await context.gateway();
  const probe = await gateway.request("mcp.probe", { name });
  context.print(probe, probeText(probe));
  if (probe.fault !== undefined) process.exitCode = 1;
};

export const removeServer: Action = async (context, { args: [name = ""] }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("mcp.remove", { name });
  context.print(result, result.removed ? `${name} is removed` : `there was no server ${name}`);
};

function probeText({ name, tools, protocol, durationMs, fault }: McpProbe): string {
  if (fault !== undefined) return showHidden(fault);
  const era = protocol === "earlier" ? "an earlier MCP" : `MCP ${protocol}`;
  return `${name}: ${tools} ${tools === 1 ? "tool" : "tools"}, ${era}, ${durationMs} ms`;
}
