import type { ContextEntry, ContextResult } from "../../../shared/protocol/session-results.ts";
import { contextText } from "../../../shared/session/commands/context-command.ts";
import { columns } from "../../app/columns.ts";
import { usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { keyOf } from "./session-commands.ts";

/** Timeout of a change, which waits for the running turn. Milliseconds. */
const changeTimeoutMs = 900_000;

export const showContext: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const found = await gateway.request("session.context", { sessionKey: await keyOf(context, args[0]) });
  context.print(found, [contextText(found), objectsText(found)].filter((part) => part !== "").join("\n\n"));
};

/** The objects of a conversation as a table; empty when there are none. */
function objectsText({ entries, more, rendering, active }: ContextResult): string {
  if (entries.length === 0) return "";
  const rows = entries.map((entry) => [
    stateOf(entry),
    entry.id,
    entry.tokens === undefined ? "" : String(entry.tokens),
    entry.args_display ?? entry.path ?? "",
  ]);
  const head = `${entries.length} objects, ${active.length} of them visible to the model (${rendering})`;
  const older = more > 0 ? [`and ${more} older calls; the transcript has their ids`] : [];
  return [head, columns(["STATE", "ID", "TOKENS", "WHAT"], rows), ...older].join("\n");
}

function stateOf({ active, pinned, archived }: ContextEntry): string {
  if (pinned) return "pinned";
  if (active) return "active";
  return archived ? "archived" : "inactive";
}

export const activateObject: Action = change("session.activate");
export const deactivateObject: Action = change("session.deactivate");

function change(method: "session.activate" | "session.deactivate"): Action {
  return async (context, { args }) => {
    const gateway = await context.gateway();
    const sessionKey = await keyOf(context, args[1]);
    const result = await gateway.request(method, { sessionKey, id: idIn(args[0]) }, changeTimeoutMs);
    context.print(result, `${result.id}: ${result.note}`);
  };
}

export const pinObject: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const sessionKey = await keyOf(context, args[1]);
  const params = { sessionKey, id: idIn(args[0]), pinned: options.remove !== true };
  const result = await gateway.request("session.pin", params, changeTimeoutMs);
  context.print(result, `${result.id}: ${result.note}`);
};

function idIn(given: string | undefined): string {
  if (!given) throw usage("name an object by its id; `gsv session context` lists them");
  return given;
}
