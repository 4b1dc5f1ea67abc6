import { isPromptPath, isSkillPath, withoutLeadingSlash } from "../workspace/workspace-paths.ts";
import type { JudgedCall, ToolClass } from "./classes.ts";
import { isAlwaysShown, isDevelopment, isSensitive } from "./shell-commands.ts";

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
  const act = actOf(
    call,
    toolClass,
    command,
    origins.every((origin) => origin.startsWith("machine:")),
  );
  return act === undefined
    ? undefined
    : `it ${act}, after words that are not yours were read (${origins.join(", ")})`;
}

/** What the words could do by this call. @param isOfMachines they came only from machines of the owner */
function actOf(
  call: JudgedCall,
  toolClass: ToolClass,
  command: string | undefined,
  isOfMachines: boolean,
): string | undefined {
  switch (toolClass) {
    case "read":
      return isSensitive(placesOf(call)) ? "reads a place of secrets" : undefined;
    case "web":
      return undefined;
    case "exec":
      return isOfMachines && command !== undefined && isDevelopment(command) ? undefined : "runs a command";
    case "write":
      if (call.node === undefined) return isLoaded(call) ? "changes what later prompts load" : undefined;
      return isSensitive(placesOf(call)) || isObeyed(placesOf(call))
        ? "writes a file that others obey"
        : undefined;
    case "message":
      return isToItself(call) ? undefined : "sends something elsewhere";
    case "admin":
      return "changes the gateway itself";
  }
}

/** The text that a shell would execute. */
function commandOf({ node, bareName, args }: JudgedCall): string | undefined {
  if (node === undefined) return undefined;
  if (bareName === "Bash") return String(args.command);
  return bareName === "Process" ? String(args.data ?? "") : undefined;
}

/** The arguments that name places, in one text. */
function placesOf({ args }: JudgedCall): string {
  const { content: _, oldString: __, newString: ___, ...places } = args;
  return JSON.stringify(places);
}

/** Files of a project that other programs execute or obey without being asked. */
function isObeyed(places: string): boolean {
  return /(?:^|[/"])(?:AGENTS|CLAUDE|SKILL|GEMINI)\.md"|\/\.(?:github|vscode|husky|cursor|claude)\/|\.service"|\.plist"/i.test(
    places,
  );
}

/** Whether a change of the workspace reaches later prompts: the agent's own files, skills and memories. */
function isLoaded({ bareName, args }: JudgedCall): boolean {
  if (bareName.startsWith("gsv__memory")) return true;
  const path = withoutLeadingSlash(String(args.path));
  return isPromptPath(path) || isSkillPath(path);
}

/** A message without a receiver goes to this conversation. */
function isToItself({ bareName, args: { channel, to, accountId } }: JudgedCall): boolean {
  return bareName === "gsv__Message" && channel === undefined && to === undefined && accountId === undefined;
}
