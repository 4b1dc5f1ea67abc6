import { addressOf } from "../routes.ts";
import type { RecalledLine } from "../state/recalled-lines.ts";
import { showHidden } from "./shown-text.ts";

/** Lines that the agent was given from earlier. A memory is a link to its place in the memory view. */
export function RecalledList({ lines, agentId }: { lines: readonly RecalledLine[]; agentId: string }) {
  return (
    <ul class="recalled">
      {lines.map(({ about, text, memory }) => (
        <li>
          <p class="plain" dir="auto">
            {showHidden(text)}
          </p>
          <p class="small">
            {memory === undefined ? (
              showHidden(about)
            ) : (
              <a href={addressOf("memory", "line", memory, agentId)}>{showHidden(about)}</a>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
}
