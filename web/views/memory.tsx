import { useSignal } from "@preact/signals";
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
  const agentId = chosen.value ?? all[0];
  const [tab, path] = route.value.parts;
  const isFiles = tab === "files";
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
      {isFiles ? (
        <MemoryFiles key={agentId} state={state} agentId={agentId} path={path} />
      ) : (
        <MemoryList key={agentId} state={state} agentId={agentId} />
      )}
    </>
  );
}
