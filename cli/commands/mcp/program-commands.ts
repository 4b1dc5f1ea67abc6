import { showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { moment, pairs } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";

const programScopes = ["mcp", "mcp:nodes"] as const;
type ProgramScope = (typeof programScopes)[number];

const meanings: Record<ProgramScope, string> = {
  mcp: "read conversations and memories, and ask the agent as a guest",
  "mcp:nodes": "use your machines, and ask the agent as you",
};

export const approveProgram: Action = async (context, { args: [code = ""], options }) => {
  const only = scopesOf(text(options.scopes));
  const gateway = await context.gateway();
  const asking = await gateway.request("program.get", { code });
  const scopes = asking.scopes.filter((scope): scope is ProgramScope => isProgramScope(scope));
  const granted = only === undefined ? scopes : scopes.filter((scope) => only.includes(scope));
  context.note(
    pairs([
      ["program", `${showHidden(asking.name)} (it calls itself so)`],
      ["returns to", showHidden(asking.redirectUri)],
      ["asks for", scopes.join(" ")],
      ["may then", granted.map((scope) => meanings[scope]).join("; ")],
      ["until", moment(asking.until)],
    ]),
  );
  if (options.yes !== true && !(await confirm(context.terminal, "Have you begun this yourself, and may it?")))
    throw new Failure("cancelled", "nothing was approved");
  const approved = await gateway.request("program.approve", { code, scopes: granted });
  context.print(approved, "approved; the browser returns to the program. `gsv token list` shows its token");
};

export const denyProgram: Action = async (context, { args: [code = ""] }) => {
  const gateway = await context.gateway();
  const denied = await gateway.request("program.deny", { code });
  context.print(denied, `denied: ${showHidden(denied.name)}. Its code has ended`);
};

function isProgramScope(scope: string): scope is ProgramScope {
  return programScopes.some((one) => one === scope);
}

function scopesOf(list: string | undefined): ProgramScope[] | undefined {
  const wanted = list?.split(",").map((scope) => scope.trim());
  const wrong = wanted?.find((scope) => !isProgramScope(scope));
  if (wrong !== undefined) throw usage(`--scopes: expected ${programScopes.join(" or ")}, not ${wrong}`);
  return wanted?.filter(isProgramScope);
}

/** What each program reads: where it is pasted, and its text. */
const formats: Record<string, (url: string) => { where: string; paste: string }> = {
  claude: (url) => ({ where: "run", paste: `claude mcp add --transport http gsv ${url}` }),
  cursor: (url) => ({
    where: "put into ~/.cursor/mcp.json",
    paste: JSON.stringify({ mcpServers: { gsv: { url } } }, undefined, 2),
  }),
  codex: (url) => ({
    where: "put into ~/.codex/config.toml, then run `codex mcp login gsv`",
    paste: `[mcp_servers.gsv]\nurl = "${url}"`,
  }),
};

export const configProgram: Action = async (context, { args: [program = ""] }) => {
  const format = Object.hasOwn(formats, program) ? formats[program] : undefined;
  if (!format) throw usage(`there is no program ${program}; use ${Object.keys(formats).join(", ")}`);
  const gateway = await context.gateway();
  const { mcp: url } = gateway.hello;
  if (url === undefined) throw new Failure("gateway", "the gateway has no address for MCP; update it");
  const { where, paste } = format(url);
  context.note(`${where}:`);
  context.print({ program, url, where, paste }, paste);
  context.note(
    "The program then opens a page with a code for `gsv mcp approve`. Without a browser, give it a token instead: " +
      "`gsv token create NAME --scopes mcp,mcp:nodes`, in the header Authorization: Bearer TOKEN.",
  );
};
