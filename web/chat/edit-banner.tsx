import type { Signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { ConsoleState } from "../state/console-state.ts";

/** Says that the next message replaces an earlier one, which it has put into the box. */
export function EditBanner({ state, draft }: { state: ConsoleState; draft: { value: string } }) {
  const edited = state.editing.value;
  // Before the next key: it must not overwrite what is typed.
  useLayoutEffect(() => {
    if (!edited) return;
    draft.value = edited.text;
    document.querySelector("textarea")?.focus();
  }, [edited]);
  if (!edited) return null;
  return (
    <p class="editing" role="status">
      <span>
        Continues from there in a new session; this one stays.
        {edited.hasFiles && " Attach its files again."}
      </span>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          state.editing.value = undefined;
          draft.value = "";
        }}
      >
        Cancel
      </button>
    </p>
  );
}

/** ArrowUp in an empty box edits the last message of the user. */
export function editsLast(
  event: KeyboardEvent,
  state: ConsoleState,
  draft: Pick<Signal<string>, "value">,
): void {
  if (event.key !== "ArrowUp" || draft.value !== "" || !(event.target instanceof HTMLTextAreaElement)) return;
  const last = state.conversation.value.entries.value.findLast(
    (entry) => entry.kind === "user" && entry.origin === "client" && entry.seq !== undefined,
  );
  if (last?.kind !== "user") return;
  event.preventDefault();
  state.edit(last);
}
