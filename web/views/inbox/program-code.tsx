import { useSignal } from "@preact/signals";
import type { ProgramAsking } from "../../../shared/protocol/token-results.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { ConsoleState } from "../../state/console-state.ts";

/** What a program may do with a scope. */
const meanings: Readonly<Record<string, string>> = {
  mcp: "read conversations and memories, and ask the agent as a guest",
  "mcp:nodes": "use your machines, and ask the agent as you",
};

/** Pairs another program, such as an editor, by the code that it shows. */
export function ProgramCode({ state }: { state: ConsoleState }) {
  const typed = useSignal("");
  const asking = useSignal<ProgramAsking | undefined>(undefined);
  const outcome = useSignal("");
  const { isBusy, fault, act } = useAction();
  const code = typed.value.trim();
  const find = (event: Event) => {
    event.preventDefault();
    outcome.value = "";
    act(async () => {
      asking.value = await state.connection.request("program.get", { code });
    });
  };
  const end = (text: string) => {
    [asking.value, typed.value, outcome.value] = [undefined, "", text];
  };
  const approve = (scopes?: "mcp"[]) =>
    act(async () => {
      await state.connection.request("program.approve", { code, scopes });
      end("Approved. The program continues by itself.");
    });
  const deny = () =>
    act(async () => {
      await state.connection.request("program.deny", { code });
      end("Denied. Its code has ended.");
    });
  return (
    <section class="group" aria-label="Pair a program">
      <h2>Pair a program</h2>
      <p class="small">An editor or another agent that asks for access shows a code.</p>
      <form class="find" onSubmit={find}>
        <input
          aria-label="Code of the program"
          placeholder="Code, such as k7mp-2xqa"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={typed.value}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
            asking.value = undefined;
          }}
        />
        <button type="submit" disabled={isBusy.value || code === ""}>
          Look up
        </button>
      </form>
      <Fault text={fault.value} />
      <p class="note" role="status">
        {outcome.value}
      </p>
      {asking.value && <Asking asking={asking.value} isBusy={isBusy.value} approve={approve} deny={deny} />}
    </section>
  );
}

interface AskingProps {
  asking: ProgramAsking;
  isBusy: boolean;
  /** Without scopes: with all that it asks for. */
  approve: (scopes?: "mcp"[]) => void;
  deny: () => void;
}

function Asking({ asking, isBusy, approve, deny }: AskingProps) {
  const { name, redirectUri, scopes } = asking;
  const shown = showHidden(name);
  return (
    <section class="card item" aria-label={`${shown} asks for access`}>
      <h3>
        A program that calls itself <bdi>{shown}</bdi> asks for access
      </h3>
      <ul>
        {scopes.map((scope) => (
          <li key={scope}>
            <code>{scope}</code>: {meanings[scope] ?? "unknown to this page"}
          </li>
        ))}
      </ul>
      <p class="small" dir="ltr">
        It returns to {showHidden(redirectUri)}
      </p>
      <p>Approve it only if you have just started this yourself.</p>
      <div class="buttons">
        <button type="button" class="primary" disabled={isBusy} onClick={() => approve()}>
          Approve
        </button>
        {scopes.length > 1 && scopes.includes("mcp") && (
          <button type="button" disabled={isBusy} onClick={() => approve(["mcp"])}>
            Approve only mcp
          </button>
        )}
        <button type="button" disabled={isBusy} onClick={deny}>
          Deny
        </button>
      </div>
    </section>
  );
}
