import type { UserMessage } from "../../shared/protocol/messages.ts";

/** A line of a memory or of an earlier conversation, as the agent was given it. */
export interface RecalledLine {
  /** When it was said, and where it is. */
  about: string;
  text: string;
  /** The id of the memory; absent for a message. */
  memory?: string;
}

/** What comes before the reminders in the tail of a message (docs/search.md, "Reminders"). */
const reminders = "\nFrom earlier, perhaps of use; gsv__recall finds more:\n";
const reminder = /^- (?<about>.+?)(?:, memory (?<memory>[0-9a-f]{16}))?: (?<text>.+)$/;

/** What the gateway reminded the agent of with a message. */
export function remindedLines({ tail = "" }: UserMessage): RecalledLine[] {
  const [, after = ""] = tail.split(reminders, 2);
  const lines: RecalledLine[] = [];
  for (const line of after.split("\n")) {
    const found = reminder.exec(line)?.groups;
    // The next part of the tail begins.
    if (!found) break;
    lines.push(lineOf(found));
  }
  return lines;
}

/** What `gsv__recall` found; undefined for another tool, and for an output that is not complete. */
export function foundLines(tool: string, output: string): RecalledLine[] | undefined {
  if (tool !== "gsv__recall") return undefined;
  try {
    const { result } = JSON.parse(output) as { result: { hits: Record<string, string>[] } };
    return result.hits.map(({ date, file, source, ended, ...hit }) => {
      const about = [date, file ?? source, ended && `ended ${ended}`].filter(Boolean).join(", ");
      return lineOf({ ...hit, about });
    });
  } catch {
    return undefined;
  }
}

function lineOf({ about = "", text = "", memory }: Partial<Record<string, string>>): RecalledLine {
  return { about, text, ...(memory === undefined ? {} : { memory }) };
}
