import { markdown } from "../../chat/markdown.tsx";
import { showHidden } from "../../chat/shown-text.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAnswer } from "../../parts/use-answer.ts";
import { addressOf } from "../../routes.ts";
import type { ConsoleState } from "../../state/console-state.ts";

interface FilesProps {
  state: ConsoleState;
  agentId: string | undefined;
}

/** The files that an agent is made of, and its daily notes; one of them when `path` names it. */
export function MemoryFiles({ path, ...props }: FilesProps & { path: string | undefined }) {
  return path === undefined ? <FileList {...props} /> : <FileText key={path} {...props} path={path} />;
}

/** Prompt files in the order in which a reader looks for them, and what they are. */
const meanings: Readonly<Record<string, string>> = {
  "SOUL.md": "who the agent is",
  "IDENTITY.md": "its name and manner",
  "USER.md": "who you are",
  "MEMORY.md": "long-term memory",
  "AGENTS.md": "how it works",
  "TOOLS.md": "your machines",
  "HEARTBEAT.md": "what it looks after",
  "DREAMS.md": "what dreaming kept",
};

function FileList({ state, agentId }: FilesProps) {
  const answer = useAnswer(state, async () => {
    const list = async (path: string) =>
      (await state.connection.request("workspace.list", { agentId, path })).files;
    const [top, notes, shared] = await Promise.all([list(""), list("memory"), list("memory/shared")]);
    return {
      own: Object.keys(meanings).filter((name) => top.includes(name)),
      notes: notes.toReversed(),
      shared: shared.toReversed(),
    };
  });
  const found = answer.value.value;
  return (
    <>
      <Fault text={answer.fault.value} retry={answer.reload} />
      {found && (
        <>
          <Paths title="What it is made of" paths={found.own} none="This agent has no files yet." />
          <Paths title="Daily notes" paths={found.notes} none="No day has notes yet." />
          {found.shared.length > 0 && (
            <Paths title="What guests and groups said" paths={found.shared} none="" />
          )}
        </>
      )}
    </>
  );
}

function Paths({ title, paths, none }: { title: string; paths: readonly string[]; none: string }) {
  return (
    <section>
      <h2>{title}</h2>
      {paths.length === 0 && <p class="note">{none}</p>}
      <ul class="paths">
        {paths.map((path) => (
          <li key={path}>
            <a href={addressOf("memory", "files", path)}>
              <span dir="auto">{showHidden(path.replace(/^memory\/(shared\/)?/, ""))}</span>
              <span class="small">{meanings[path]}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function FileText({ state, agentId, path }: FilesProps & { path: string }) {
  const answer = useAnswer(state, () => state.connection.request("workspace.read", { agentId, path }));
  const file = answer.value.value;
  return (
    <article class="file">
      <p class="small">
        <a href={addressOf("memory", "files")}>All files</a>
      </p>
      <h2 dir="auto">{showHidden(path)}</h2>
      <Fault text={answer.fault.value} retry={answer.reload} />
      {file && (
        <>
          <p class="small">
            changed {timeText(Date.parse(file.lastModified))}
            {file.origins &&
              file.origins.length > 0 &&
              `; may contain words of ${file.origins.map(showHidden).join(", ")}`}
            . Edit it in a terminal: <code>gsv workspace edit {showHidden(path)}</code>
          </p>
          {file.content.trim() === "" && <p class="note">This file is empty.</p>}
          <div class="text">{markdown(file.content)}</div>
        </>
      )}
    </article>
  );
}
