import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type {
  DreamVerdict,
  Memory,
  MemoryRecord,
  MemorySource,
} from "../../../shared/protocol/memory-schemas.ts";
import { sessionName } from "../../chat/session-name.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import { addressOf } from "../../routes.ts";
import type { MemoryOwner } from "./memory-changes.ts";

const writers: Record<MemoryRecord["by"], string> = {
  agent: "you asked the agent to remember it",
  extraction: "read from a conversation",
  client: "you wrote it",
};

/** Where a memory comes from, and on request the files with it and the messages that say it. */
export function MemoryOrigin({
  owner,
  memory,
  recalls,
}: {
  owner: MemoryOwner;
  memory: Memory;
  recalls: DreamVerdict | undefined;
}) {
  const sources = useSignal<MemorySource[] | undefined>(undefined);
  const { fault, act } = useAction();
  const { id, places, record, ended } = memory;
  const canAsk = record?.sessionKey !== undefined && ended === undefined;
  const open = (isOpen: boolean) => {
    if (!isOpen || !canAsk || sources.value) return;
    act(async () => {
      const why = await owner.connection.request("memory.why", { agentId: owner.agentId, id });
      sources.value = why.sources;
    });
  };
  return (
    <details class="origin small" onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>{summaryOf(memory, recalls)}</summary>
      {record && <RecordLines record={record} />}
      <p>
        {places.map(({ path, line }) => (
          <>
            <a href={addressOf("memory", "files", path)}>{showHidden(path)}</a>, line {line}{" "}
          </>
        ))}
      </p>
      {sources.value?.map(({ at, role, text }) => (
        <blockquote>
          <p>
            {role === "user" ? "you" : role}, {timeText(at)}
          </p>
          <p class="plain" dir="auto">
            {showHidden(text)}
          </p>
        </blockquote>
      ))}
      {sources.value?.length === 0 && <p>No message of that conversation says it in these words.</p>}
      <Fault text={fault.value} />
    </details>
  );
}

function summaryOf({ record, ended }: Memory, recalls: DreamVerdict | undefined): string {
  const parts = [record ? `${writers[record.by]}, ${timeText(record.at)}` : "written into its file"];
  if (record?.origins && record.origins.length > 0) parts.push("with words of others");
  if (ended !== undefined) parts.push(record?.supersededBy ? `replaced ${ended}` : `ended ${ended}`);
  if (recalls) parts.push(`recalled ${recalls.hits} ${recalls.hits === 1 ? "time" : "times"}`);
  return parts.join(" · ");
}

function RecordLines({ record }: { record: MemoryRecord }) {
  const { sessionKey, origins, others = [], promoted, type, supersededBy } = record;
  const lines: ComponentChildren[] = [`type: ${type}`];
  if (sessionKey !== undefined) lines.push(<>session: {sessionLink(sessionKey)}</>);
  if (origins) lines.push(`words read: ${origins.map(showHidden).join(", ") || "only yours"}`);
  if (others.length > 0)
    lines.push(
      <>
        said again:{" "}
        {others.map((one) => (
          <>
            {timeText(one.at)} {one.sessionKey === undefined ? "by you" : sessionLink(one.sessionKey)}{" "}
          </>
        ))}
      </>,
    );
  if (promoted) lines.push(`dreaming added it to MEMORY.md: ${timeText(promoted.at)}`);
  if (supersededBy) lines.push(`replaced by ${supersededBy}`);
  return (
    <>
      {lines.map((line) => (
        <p dir="auto">{line}</p>
      ))}
    </>
  );
}

function sessionLink(sessionKey: string) {
  return <a href={addressOf("chat", sessionKey)}>{showHidden(sessionName({ sessionKey }))}</a>;
}
