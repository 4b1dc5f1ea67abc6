import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type {
  DreamVerdict,
  ForgottenMemory,
  LastExtraction,
} from "../../../shared/protocol/memory-schemas.ts";
import { sessionName } from "../../chat/session-name.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import { useAnswer } from "../../parts/use-answer.ts";
import type { ConsoleState } from "../../state/console-state.ts";
import { allowMemory, type Change, type MemoryOwner } from "./memory-changes.ts";
import { MemoryRow } from "./memory-row.tsx";

/** Memories that are shown first, and the most that the gateway lists. */
const shown = { first: 100, max: 1000 };

interface ListProps {
  state: ConsoleState;
  agentId: string | undefined;
  /** The question with which it begins. */
  words: string;
}

/** The memories of an agent, newest first, or those that match a question. */
export function MemoryList({ state, agentId, words }: ListProps) {
  const { connection } = state;
  const query = useSignal(words);
  const limit = useSignal(shown.first);
  const change = useSignal<Change | undefined>(undefined);
  const list = useAnswer(
    state,
    () => connection.request("memory.list", { agentId, query: query.value, limit: limit.value }),
    [query.value, limit.value],
  );
  const recalls = useAnswer(state, () => recallsOf({ connection, agentId }));
  const forgotten = useAnswer(state, () => connection.request("memory.list", { agentId, forgotten: true }));
  const changed = async (made: Change) => {
    await Promise.all([list.reload(), forgotten.reload()]);
    change.value = made;
  };
  const { memories = [], extraction } = list.value.value ?? {};
  return (
    <>
      <MemorySearch
        asked={words}
        onAsked={(text) => {
          query.value = text;
        }}
      />
      {change.value && <Notice change={change.value} onChanged={changed} />}
      <Fault text={list.fault.value} retry={list.reload} />
      {list.value.value && memories.length === 0 && <Nothing query={query.value} />}
      <ul class="memories">
        {memories.map((memory) => (
          <MemoryRow
            key={memory.id}
            owner={{ connection, agentId }}
            memory={memory}
            recalls={recalls.value.value?.get(memory.id)}
            onChanged={changed}
          />
        ))}
      </ul>
      {memories.length === limit.value && limit.value < shown.max && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            limit.value = shown.max;
          }}
        >
          Show older memories
        </button>
      )}
      {extraction && <p class="small">{extractionText(extraction)}</p>}
      <Forgotten
        owner={{ connection, agentId }}
        forgotten={forgotten.value.value?.forgotten ?? []}
        onChanged={changed}
      />
    </>
  );
}

function MemorySearch({ asked, onAsked }: { asked: string; onAsked: (query: string) => void }) {
  const words = useSignal(asked);
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onAsked(words.value.trim());
      }}
    >
      <input
        type="search"
        dir="auto"
        placeholder="Find a memory"
        aria-label="Search the memories"
        value={words.value}
        onInput={({ currentTarget }) => {
          words.value = currentTarget.value;
          if (words.value === "") onAsked("");
        }}
      />
      <button type="submit">Search</button>
    </form>
  );
}

/** What was changed last, with its undo. */
function Notice({ change, onChanged }: { change: Change; onChanged: (made: Change) => Promise<void> }) {
  const { isBusy, fault, act } = useAction();
  const notice = useRef<HTMLDivElement>(null);
  const { text, undo } = change;
  // The row that had the focus may be gone.
  useEffect(() => notice.current?.focus(), [change]);
  return (
    <div class="notice" role="status" ref={notice} tabIndex={-1}>
      <span dir="auto">{text}</span>
      {undo && (
        <button
          type="button"
          class="quiet"
          disabled={isBusy.value}
          onClick={() => act(async () => onChanged(await undo()))}
        >
          Undo
        </button>
      )}
      <Fault text={fault.value} />
    </div>
  );
}

function Nothing({ query }: { query: string }) {
  if (query !== "") return <p class="note">No memory matches these words.</p>;
  return (
    <section class="nothing">
      <h2>Nothing remembered yet</h2>
      <p>
        The agent remembers what you ask it to, and what a conversation said when it is reset. Tell it
        “Remember that I am allergic to nuts”, and look here again.
      </p>
    </section>
  );
}

function Forgotten(props: {
  owner: MemoryOwner;
  forgotten: readonly ForgottenMemory[];
  onChanged: (made: Change) => Promise<void>;
}) {
  const { isBusy, fault, act } = useAction();
  if (props.forgotten.length === 0) return null;
  return (
    <details class="forgotten">
      <summary>Kept out: {props.forgotten.length} forgotten or replaced</summary>
      <p class="small">
        Resets do not bring these back. Of a forgotten memory only its id and hashes of its words are stored.
      </p>
      <ul>
        {props.forgotten.map(({ id, at, isCorrected, suppressed }) => (
          <li key={id}>
            <span>
              <code>{id}</code> {isCorrected ? "replaced or ended" : "forgotten"} {timeText(at)}
              {suppressed && `; last kept out ${timeText(suppressed.at)}`}
            </span>
            <button
              type="button"
              class="quiet"
              aria-label={`Allow ${id}`}
              disabled={isBusy.value}
              onClick={() => act(async () => props.onChanged(await allowMemory(props.owner, id)))}
            >
              Allow
            </button>
          </li>
        ))}
      </ul>
      <Fault text={fault.value} />
    </details>
  );
}

/** How often each memory was recalled. Recalls are counted only while dreaming is on. */
async function recallsOf({ connection, agentId }: MemoryOwner): Promise<ReadonlyMap<string, DreamVerdict>> {
  const { enabled } = await connection.request("memory.dreaming", { agentId });
  if (!enabled) return new Map();
  const preview = await connection.request("memory.dream", { agentId, dryRun: true });
  return new Map(preview.busy ? [] : preview.verdicts.map((verdict) => [verdict.id, verdict]));
}

const extractions: Record<LastExtraction["state"], string> = {
  pending: "is in progress",
  done: "is complete",
  failed: "failed",
  stopped: "was stopped",
};

function extractionText({ state, sessionKey, at, count, reason }: LastExtraction): string {
  const found = count === undefined ? "" : `, ${count} ${count === 1 ? "memory" : "memories"}`;
  const why = reason === undefined ? "" : `: ${reason}`;
  return `Reading ${sessionName({ sessionKey })} after its reset (${timeText(at)}) ${extractions[state]}${found}${why}.`;
}
