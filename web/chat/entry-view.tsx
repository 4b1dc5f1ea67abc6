import { dollarsText, timeText } from "../parts/durations.ts";
import { memoized } from "../parts/memoized.tsx";
import { addressOf } from "../routes.ts";
import type { ConsoleState } from "../state/console-state.ts";
import type { Entry, ReplyEntry, UserEntry } from "../state/entries.ts";
import { markdown } from "./markdown.tsx";
import { type FileSource, MessageFiles } from "./message-files.tsx";
import { RecalledList } from "./recalled-list.tsx";
import { StreamedMarkdown } from "./streamed-markdown.tsx";
import { ToolCard } from "./tool-card.tsx";

interface EntryProps {
  entry: Entry;
  state: ConsoleState;
  /** Whose conversation it is. */
  agentId: string;
  source: FileSource;
}

/** One entry of a conversation. It is drawn again only when the entry has changed. */
export const EntryView = memoized<EntryProps>(({ entry, state, agentId, source }) => {
  switch (entry.kind) {
    case "user":
      return <UserMessage entry={entry} state={state} agentId={agentId} source={source} />;
    case "reply":
      return <Reply entry={entry} />;
    case "thinking":
      return (
        <details class="thinking">
          <summary>Thinking</summary>
          <div class="text">{markdown(entry.text)}</div>
        </details>
      );
    case "tool":
      return <ToolCard call={entry} agentId={agentId} source={source} />;
    default:
      return (
        <p
          class={entry.isError ? "note error" : "note"}
          dir="auto"
          role={entry.isError ? "alert" : undefined}
        >
          {entry.text}
        </p>
      );
  }
});

/** Channels through which the gateway writes itself. */
const reports: Readonly<Record<string, string>> = {
  cron: "scheduled",
  exec: "background command",
  heartbeat: "heartbeat",
  session: "another session",
};

function UserMessage({ entry, state, agentId, source }: EntryProps & { entry: UserEntry }) {
  const { text, files, origin, at, unsent, reminders } = entry;
  const report = reports[origin];
  if (report !== undefined)
    return (
      <details class="thinking">
        <summary>
          {report} · {timeText(at)}
        </summary>
        <p class="text plain" dir="auto">
          {text}
        </p>
      </details>
    );
  return (
    <>
      <article class="mine" aria-label="You">
        <div class={unsent ? "bubble unsent" : "bubble"}>
          <MessageFiles files={files} source={source} />
          {text !== "" && (
            <p class="plain" dir="auto">
              {text}
            </p>
          )}
        </div>
        <footer class="small">
          {origin !== "client" && <span>{origin} · </span>}
          {unsent === undefined && <time>{timeText(at)}</time>}
          {origin === "client" && entry.seq !== undefined && (
            <button
              type="button"
              class="quiet edit"
              aria-label="Edit this message"
              title="Edit it, and continue from there in a new session"
              onClick={() => state.edit(entry)}
            >
              Edit
            </button>
          )}
          {unsent && <Unsent {...unsent} runId={entry.runId ?? ""} state={state} />}
        </footer>
      </article>
      {reminders && (
        <details class="thinking">
          <summary>
            Recalled {reminders.length} {reminders.length === 1 ? "line" : "lines"} from earlier
          </summary>
          <RecalledList lines={reminders} agentId={agentId} />
        </details>
      )}
    </>
  );
}

interface UnsentProps {
  uploaded?: number;
  refused?: string;
  runId: string;
  state: ConsoleState;
}

/** Why a message is not sent yet, and what the user can do. */
function Unsent({ uploaded, refused, runId, state }: UnsentProps) {
  if (refused !== undefined)
    return (
      <>
        <span class="failure">Not sent: {refused} </span>
        <button type="button" class="quiet" onClick={() => state.retry(runId)}>
          Send again
        </button>
        <button type="button" class="quiet" onClick={() => state.discard(runId)}>
          Discard
        </button>
      </>
    );
  if (uploaded === undefined) return <span>waiting to be sent</span>;
  return (
    <label class="upload">
      uploading <progress value={uploaded} /> {Math.floor(uploaded * 100)} %
    </label>
  );
}

function Reply({ entry: { text, isOpen, dollars, at } }: { entry: ReplyEntry }) {
  return (
    <article class={isOpen ? "reply open" : "reply"} aria-label="Agent" aria-busy={isOpen}>
      <div class="text">
        <StreamedMarkdown text={text} isOpen={isOpen} />
      </div>
      {!isOpen && dollars !== undefined && (
        <footer class="small">
          <time>{timeText(at)}</time> ·{" "}
          <a href={addressOf("cost")} title="price of this turn; shows what everything costs">
            {dollarsText(dollars)}
          </a>
        </footer>
      )}
    </article>
  );
}
