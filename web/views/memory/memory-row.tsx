import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { DreamVerdict, Memory } from "../../../shared/protocol/memory-schemas.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import { allowMemory, type Change, correctMemory, forgetMemory, type MemoryOwner } from "./memory-changes.ts";
import { MemoryOrigin } from "./memory-origin.tsx";

interface RowProps {
  owner: MemoryOwner;
  memory: Memory;
  /** How often it was recalled, if that is counted. */
  recalls: DreamVerdict | undefined;
  onChanged: (made: Change) => Promise<void>;
}

type Mode = "read" | "correct" | "forget";

/** A memory, where it comes from, and what can be done with it. */
export function MemoryRow({ owner, memory, recalls, onChanged }: RowProps) {
  const mode = useSignal<Mode>("read");
  const row = useRef<HTMLLIElement>(null);
  const { isBusy, fault, act } = useAction();
  const { id, ended } = memory;
  const text = showHidden(memory.text);
  const make = (change: Promise<Change>) => act(async () => onChanged(await change));
  const close = () => {
    mode.value = "read";
    row.current?.focus();
  };
  const choose = (chosen: Mode) => () => {
    mode.value = chosen;
  };
  return (
    <li class="memory" ref={row} tabIndex={-1}>
      {mode.value === "correct" ? (
        <Correction
          text={memory.text}
          isBusy={isBusy.value}
          onSave={(words) => make(correctMemory(owner, memory, words).then(closed(close)))}
          onCancel={close}
        />
      ) : (
        <p class="plain" dir="auto">
          {ended === undefined ? text : <del>{text}</del>}
        </p>
      )}
      <MemoryOrigin owner={owner} memory={memory} recalls={recalls} />
      {mode.value === "forget" && (
        <Forgetting
          isBusy={isBusy.value}
          onForget={(everywhere) => make(forgetMemory(owner, memory, everywhere))}
          onCancel={close}
        />
      )}
      {mode.value === "read" && (
        <div class="buttons">
          {ended === undefined ? (
            <button type="button" class="quiet" aria-label={`Correct: ${text}`} onClick={choose("correct")}>
              Correct
            </button>
          ) : (
            <button
              type="button"
              class="quiet"
              aria-label={`Restore: ${text}`}
              disabled={isBusy.value}
              onClick={() => make(allowMemory(owner, id))}
            >
              Restore
            </button>
          )}
          <button type="button" class="quiet" aria-label={`Forget: ${text}`} onClick={choose("forget")}>
            Forget
          </button>
        </div>
      )}
      <Fault text={fault.value} />
    </li>
  );
}

const closed = (close: () => void) => (made: Change) => {
  close();
  return made;
};

/** Max characters of a memory, as the gateway accepts. */
const maxCharacters = 2000;

function Correction(props: {
  text: string;
  isBusy: boolean;
  onSave: (text: string) => void;
  onCancel: () => void;
}) {
  const words = useSignal(props.text);
  const field = useRef<HTMLTextAreaElement>(null);
  // Before the next key of a fast typist.
  useLayoutEffect(() => field.current?.focus(), []);
  const line = words.value.replaceAll(/\s+/g, " ").trim();
  const isReady = !props.isBusy && line.length >= 3 && line !== props.text;
  return (
    <form
      class="correction"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) props.onSave(line);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        props.onCancel();
      }}
    >
      <textarea
        ref={field}
        dir="auto"
        rows={3}
        maxLength={maxCharacters}
        aria-label="The corrected memory"
        value={words.value}
        onInput={({ currentTarget }) => {
          words.value = currentTarget.value;
        }}
      />
      <div class="buttons">
        <button type="submit" class="primary" disabled={!isReady}>
          Save
        </button>
        <button type="button" onClick={props.onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function Forgetting(props: {
  isBusy: boolean;
  onForget: (everywhere: boolean) => void;
  onCancel: () => void;
}) {
  const everywhere = useSignal(false);
  const group = useRef<HTMLFieldSetElement>(null);
  useLayoutEffect(() => group.current?.focus(), []);
  return (
    <fieldset class="forgetting" ref={group} tabIndex={-1} aria-label="Forget this memory?">
      <p>
        Forget this? Its line is removed from every file, and resets do not bring it back. The conversation
        that said it stays until you delete it.
      </p>
      <label>
        <input
          type="checkbox"
          checked={everywhere.value}
          onChange={({ currentTarget }) => {
            everywhere.value = currentTarget.checked;
          }}
        />
        Also remove it from the history and stored prompts. This cannot be undone.
      </label>
      <div class="buttons">
        <button
          type="button"
          class="danger"
          disabled={props.isBusy}
          onClick={() => props.onForget(everywhere.value)}
        >
          Forget it
        </button>
        <button type="button" onClick={props.onCancel}>
          Keep it
        </button>
      </div>
    </fieldset>
  );
}
