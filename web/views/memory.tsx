import { useSignal } from "@preact/signals";
import { Fault } from "../parts/fault.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { addressOf, route } from "../routes.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { MemoryFiles } from "./memory/memory-files.tsx";
import { MemoryList } from "./memory/memory-list.tsx";

/** What an agent remembers, why, and the files with it. */
export default function MemoryView({ state }: { state: ConsoleState }) {
  const chosen = useSignal<string | undefined>(undefined);
  const agents = useAnswer(state, async () =>
    Object.keys((await state.connection.request("heartbeat.status", {})).agents),
  );
  const all = agents.value.value ?? [];
  const [tab, name, named] = route.value.parts;
  const isFiles = tab === "files";
  const lineId = tab === "line" ? name : undefined;
  const agentId = chosen.value ?? named ?? all[0];
  return (
    <>
      <div class="memory-head">
        <nav class="tabs" aria-label="Memory">
          <a href={addressOf("memory")} aria-current={isFiles ? undefined : "page"}>
            Memories
          </a>
          <a href={addressOf("memory", "files")} aria-current={isFiles ? "page" : undefined}>
            Files
          </a>
        </nav>
        {all.length > 1 && (
          <select
            aria-label="Agent"
            value={agentId}
            onChange={({ currentTarget }) => {
              chosen.value = currentTarget.value;
            }}
          >
            {all.map((id) => (
              <option value={id}>{id}</option>
            ))}
          </select>
        )}
      </div>
      {isFiles && <MemoryFiles key={agentId} state={state} agentId={agentId} path={name} />}
      {lineId && <NamedMemory key={lineId} state={state} agentId={agentId} id={lineId} />}
      {!isFiles && !lineId && <MemoryList key={agentId} state={state} agentId={agentId} words="" />}
    </>
  );
}

interface NamedProps {
  state: ConsoleState;
  agentId: string | undefined;
  id: string;
}

/** The memories that are like one, which is the first: a line in a conversation leads to it. */
function NamedMemory({ state, agentId, id }: NamedProps) {
  const { value, fault, reload } = useAnswer(state, () =>
    state.connection.request("memory.why", { agentId, id }),
  );
  const memory = value.value?.memory;
  if (memory) return <MemoryList state={state} agentId={agentId} words={memory.text} />;
  return <Fault text={fault.value} retry={reload} />;
}
