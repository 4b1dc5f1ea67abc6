import { durationText } from "../parts/durations.ts";
import { Elapsed } from "../parts/elapsed.tsx";
import type { ToolEntry } from "../state/entries.ts";
import { foundLines } from "../state/recalled-lines.ts";
import type { FileSource } from "./message-files.tsx";
import { MessageFiles } from "./message-files.tsx";
import { RecalledList } from "./recalled-list.tsx";
import { argumentsLine, callText, showHidden } from "./shown-text.ts";

const marks = { running: "…", ok: "✓", failed: "✗", lost: "–" } as const;
const words = { running: "running", ok: "done", failed: "failed", lost: "no result" } as const;

interface ToolCardProps {
  call: ToolEntry;
  /** Who called it. */
  agentId: string;
  source: FileSource;
}

/** A tool call: one line with its time and end; opened, its whole arguments and output. */
export function ToolCard({ call, agentId, source }: ToolCardProps) {
  const { tool, args, state, output, failure, durationMs, files } = call;
  const [node, name] = tool.includes("__") ? tool.split("__", 2) : ["", tool];
  const recalled = foundLines(tool, output);
  return (
    <details class={`card tool ${state}`}>
      <summary>
        <span class="mark" role="img" aria-label={words[state]}>
          {marks[state]}
        </span>
        <span class="name">
          {node && <span class="dim">{showHidden(node)} · </span>}
          {showHidden(name ?? tool)}
        </span>
        <code class="line" dir="ltr">
          {argumentsLine(args)}
        </code>
        <span class="time">
          {failure && <span class="failure">{failure} </span>}
          {state === "running" ? (
            <Elapsed since={call.at} />
          ) : (
            durationMs !== undefined && durationMs >= 100 && durationText(durationMs)
          )}
        </span>
      </summary>
      <pre dir="ltr">{callText({ args: (args ?? {}) as Record<string, unknown> })}</pre>
      {recalled && <RecalledList lines={recalled} agentId={agentId} />}
      {!recalled && output !== "" && (
        <pre class="output" dir="ltr" tabIndex={0}>
          {output}
        </pre>
      )}
      <MessageFiles files={files} source={source} />
    </details>
  );
}
