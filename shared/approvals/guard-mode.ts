import { isOfMachine, webOrigin } from "../origins/origins.ts";
import type { ServerClass } from "../protocol/mcp.ts";
import { isPromptPath, isSkillPath, withoutLeadingSlash } from "../workspace/workspace-paths.ts";
import type { JudgedCall, ToolClass } from "./classes.ts";
import {
  isAlwaysShown,
  isDevelopment,
  isPlainAddress,
  isSensitive,
  plainPage,
  readsFolders,
  wordsOf,
} from "./shell-commands.ts";

/**
 * Why mode `guard` asks about a call; undefined if it does not.
 * @param origins whose words the run has read (`origins.ts`); empty: only the owner's
 */
export function whyGuarded(
  call: JudgedCall,
  toolClass: ToolClass,
  origins: readonly string[],
): string | undefined {
  const command = commandOf(call);
  if (toolClass === "admin") return "it changes the gateway itself";
  if (command !== undefined && isAlwaysShown(command))
    return "it deletes broadly, changes rights, or runs code of a page";
  if (origins.length === 0) return undefined;
  const act = actOf(call, toolClass, command, origins);
  return act === undefined
    ? undefined
    : `it ${act}, after words that are not yours were read (${origins.join(", ")})`;
}

/** What the words could do by this call. After words of the owner's machines alone, less is asked about. */
function actOf(
  call: JudgedCall,
  toolClass: ToolClass,
  command: string | undefined,
  origins: readonly string[],
): string | undefined {
  const isOfMachines = origins.every(isOfMachine);
  if (call.remoteClass !== undefined) return remoteAct(call.remoteClass, isOfMachines);
  const places = placesOf(call, command);
  switch (toolClass) {
    case "read":
      if (places.some(isSensitive)) return "reads a place of secrets";
      return !isOfMachines && isSearch(call, command) ? "searches whole folders" : undefined;
    case "web": {
      // A search goes to the service that the owner has configured, and nobody else reads it.
      if (isOfMachines || call.isQuoted || call.bareName === "gsv__WebSearch") return undefined;
      const address = command === undefined ? String(call.args.url) : plainPage(command);
      return isPlainAddress(address ?? "") && origins.includes(hostOf(address ?? ""))
        ? undefined
        : "opens another page";
    }
    case "exec": {
      const isOfProject = command !== undefined && isDevelopment(command);
      const isHarmless = isOfProject && !places.some((place) => isSensitive(place) || isObeyed(place));
      return isOfMachines && isHarmless ? undefined : "runs a command";
    }
    case "write":
      if (call.node === undefined) return isLoaded(call) ? "changes what later prompts load" : undefined;
      if (places.some((place) => isSensitive(place) || isObeyed(place)))
        return "writes a file that others obey";
      if (isOfMachines) return undefined;
      if (isElsewhere(call.args.path)) return "writes outside the folder of its node";
      return isExecuted(String(call.args.path)) ? "writes a file that is executed" : undefined;
    case "message":
      return isToItself(call) ? undefined : "sends something elsewhere";
    case "admin":
      return "changes the gateway itself";
  }
}

/** What the words could do by a tool of an MCP server. */
function remoteAct(remoteClass: ServerClass, isOfMachines: boolean): string | undefined {
  switch (remoteClass) {
    case "read":
      return undefined;
    case "web":
      return isOfMachines ? undefined : "asks a server of others";
    case "write":
      return "changes something at a server";
    case "message":
      return "sends something elsewhere";
    case "exec":
      return "acts at a server";
  }
}

/** The text that a shell would execute. */
function commandOf({ node, bareName, args }: JudgedCall): string | undefined {
  if (node === undefined) return undefined;
  if (bareName === "Bash") return String(args.command);
  return bareName === "Process" ? String(args.data ?? "") : undefined;
}

/** The arguments that name places. A command's words are also those of files in its folder. */
function placesOf({ args }: JudgedCall, command = ""): string[] {
  const { content: _, oldString: __, newString: ___, ...places } = args;
  const texts = Object.values(places).map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  const words = wordsOf(command);
  const { workdir } = args;
  return [...texts, ...words, ...(workdir === undefined ? [] : words.map((word) => `${workdir}/${word}`))];
}

/** Whether a call reads files that it does not name: a command's below any folder, a tool's outside the node's workspace. */
function isSearch({ bareName, args }: JudgedCall, command: string | undefined): boolean {
  if (command !== undefined) return readsFolders(command);
  return bareName === "Grep" && isElsewhere(args.path ?? ".");
}

/** Whether a path may be outside the folder of its node. */
function isElsewhere(path: unknown): boolean {
  return /^[/~\\]|^\w:|(?:^|[/\\])\.\.(?:[/\\]|$)/.test(String(path));
}

/** Files of a project that a later build, test or start executes, although nobody names them. */
function isExecuted(path: string): boolean {
  return /(?:^|[/\\])(?:package\.json|(?:GNU)?Makefile|conftest\.py|setup\.py|build\.rs|(?:docker-)?compose\.ya?ml|Dockerfile|\w+\.config\.[cm]?[jt]s)$|\.(?:sh|bash|zsh|fish|bat|cmd|ps1|mk|gradle|pth)$/i.test(
    path,
  );
}

/** The host of a plain address, as words of it are recorded. */
function hostOf(address: string): string {
  return webOrigin(/^https?:\/\/([^/:]+)/i.exec(address)?.[1] ?? "");
}

/** Files of a project that other programs execute or obey without being asked. */
function isObeyed(place: string): boolean {
  return /(?:^|[/\\])(?:(?:AGENTS|CLAUDE|SKILL|GEMINI)\.md$|\.gitconfig$|\.(?:git|github|vscode|husky|cursor|claude)(?:[/\\]|$))|\.service$|\.plist$/i.test(
    place,
  );
}

/** Whether a change of the workspace reaches later prompts: the agent's own files, skills and memories. */
function isLoaded({ bareName, args }: JudgedCall): boolean {
  if (bareName.startsWith("gsv__memory")) return true;
  const path = withoutLeadingSlash(String(args.path));
  return isPromptPath(path) || isSkillPath(path);
}

/** A message without a receiver goes to this conversation. A file at an address is requested from there. */
function isToItself({ bareName, args: { channel, to, accountId, media } }: JudgedCall): boolean {
  const isHere = channel === undefined && to === undefined && accountId === undefined;
  return bareName === "gsv__Message" && isHere && !/^\s*https?:/i.test(String(media ?? ""));
}
