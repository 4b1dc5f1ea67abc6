import type { CommandResult } from "../../shared/session/result-message.ts";
import { secondsText, shorten } from "../app/columns.ts";

const mainArguments = ["command", "path", "pattern", "action", "query", "url"];

/**
 * Formats a call's arguments in at most `max` characters: only the `mainArguments` when present, else all as JSON.
 */
export function shortArguments(args: unknown, max = 72): string {
  if (args === undefined || args === null) return "";
  const named = new Map(typeof args === "object" ? Object.entries(args) : []);
  const main = mainArguments.map((name) => named.get(name)).filter((value) => typeof value === "string");
  if (main.length > 0) return shorten(main.join(" "), max);
  return typeof args === "object" && named.size === 0 ? "" : shorten(JSON.stringify(args), max);
}

/** How a command ended: `✓ 3.2 s`, `✗ exit 3 after 3.2 s`. A time below a second is omitted. */
export function commandEnding({ failure, durationMs = 0 }: Omit<CommandResult, "output">): string {
  const time = durationMs >= 1000 ? secondsText(durationMs) : undefined;
  const ending = failure === undefined ? ["✓", time] : ["✗", failure, time && `after ${time}`];
  return ending.filter((part) => part !== undefined).join(" ");
}
