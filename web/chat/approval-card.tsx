import { useSignal } from "@preact/signals";
import type { AnswerScope, Approval } from "../../shared/protocol/approvals.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { callText, questionText, reasonLines } from "./shown-text.ts";

/** A request for approval, with the same text as in a terminal. In it, A allows once and D denies. */
export function ApprovalCard({ request, state }: { request: Approval; state: ConsoleState }) {
  const isSent = useSignal(false);
  const note = useSignal("");
  const field = request.requester?.kind === "mcp" ? request.requester.field : undefined;
  const isOnceOnly = request.everyTime || request.kind === "mcp";
  const answer = async (decision: "allow" | "deny", scope: AnswerScope = "once") => {
    const isIncomplete = decision === "allow" && field !== undefined && note.value === "";
    if (isSent.value || isIncomplete) return;
    isSent.value = true;
    await state.answer(request, { decision, scope, ...(note.value === "" ? {} : { note: note.value }) });
    isSent.value = false;
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const decision = { a: "allow", d: "deny" }[event.key.toLowerCase()] as "allow" | "deny" | undefined;
    if (!decision) return;
    event.preventDefault();
    void answer(decision);
  };
  return (
    <section
      class="card approval"
      role="group"
      aria-label={questionText(request)}
      tabIndex={0}
      onKeyDown={keyed}
    >
      <h2>{questionText(request)}</h2>
      <pre dir="ltr">{callText(request)}</pre>
      {reasonLines(request).map((line) => (
        <p class="small">{line}</p>
      ))}
      {field !== undefined && (
        <input
          aria-label={field}
          placeholder={field}
          value={note.value}
          onInput={({ currentTarget }) => {
            note.value = currentTarget.value;
          }}
        />
      )}
      <div class="buttons">
        <button type="button" class="primary" disabled={isSent} onClick={() => void answer("allow")}>
          <kbd>A</kbd>llow once
        </button>
        <button type="button" disabled={isSent} onClick={() => void answer("deny")}>
          <kbd>D</kbd>eny
        </button>
        {!isOnceOnly && (
          <button type="button" class="quiet" disabled={isSent} onClick={() => void answer("allow", "run")}>
            Allow in this run
          </button>
        )}
        {!isOnceOnly && (
          <button
            type="button"
            class="quiet"
            disabled={isSent}
            onClick={() => void answer("allow", request.kind === "budget" ? "day" : "always")}
          >
            {request.kind === "budget" ? "Allow for today" : "Always exactly this"}
          </button>
        )}
      </div>
    </section>
  );
}
