import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "../parts/icon.tsx";
import type { ConsoleState } from "../state/console-state.ts";
import type { OutboxFile } from "../wire/outbox.ts";
import { RecordingBox, VoiceButton } from "./voice-button.tsx";
import type { VoiceRecording } from "./voice-recording.ts";

/** What the gateway executes, for the list that a slash opens. */
const commands: readonly (readonly [string, string])[] = [
  ["/new", "begin a new conversation"],
  ["/private", "begin one that is not archived"],
  ["/stop", "stop the run"],
  ["/model", "show or change the model"],
  ["/think", "how much the model thinks"],
  ["/compact", "summarize older messages"],
  ["/status", "session, model and use"],
  ["/cost", "what was spent"],
  ["/budget", "what may be spent"],
  ["/context", "what the model sees"],
  ["/help", "all commands"],
];

const maxFiles = 10;
const maxBoxPixels = 240;
const maxFileBytes = 25 * 1024 * 1024;

interface ComposerProps {
  state: ConsoleState;
  /** The text in the box. Others may set it. */
  draft: { value: string };
}

/** The box for a message. Enter sends it, Shift+Enter begins a line; on a touch screen Enter begins a line. */
export function Composer({ state, draft }: ComposerProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  const files = useSignal<File[]>([]);
  const fault = useSignal("");
  const recording = useSignal<VoiceRecording | undefined>(undefined);
  const text = draft.value;
  const add = (added: Iterable<File>) => {
    const all = [...added];
    const fitting = all.filter(({ size }) => size <= maxFileBytes);
    fault.value = fitting.length < all.length ? "A file may have at most 25 MB." : "";
    files.value = [...files.value, ...fitting].slice(0, maxFiles);
  };
  const send = () => {
    const message = draft.value.trim();
    if (message === "" && files.value.length === 0) return;
    void state.send(message, files.value.map(asOutboxFile));
    draft.value = "";
    files.value = [];
  };
  useDrop(add);
  useGrowing(box, text);
  const offered = /^\/\S*$/.test(text)
    ? commands.filter(([name]) => name.startsWith(text) && name !== text)
    : [];
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Tab" && offered[0] && !event.shiftKey) {
      event.preventDefault();
      draft.value = `${offered[0][0]} `;
    }
    if (!isSending(event)) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Offers
        offered={offered}
        onChosen={(name) => {
          draft.value = `${name} `;
          box.current?.focus();
        }}
      />
      <Fault text={fault.value} />
      <ChosenFiles files={files} />
      <RecordingBox recording={recording} onFile={(file) => void state.send("", [asOutboxFile(file)])} />
      <div class="box" hidden={recording.value !== undefined}>
        <FilePicker label="Attach files" icon="attach" add={add} />
        <textarea
          ref={box}
          rows={1}
          dir="auto"
          aria-label="Message"
          placeholder="Message"
          value={text}
          onInput={({ currentTarget }) => {
            draft.value = currentTarget.value;
          }}
          onKeyDown={keyed}
          onPaste={({ clipboardData }) => add(clipboardData?.files ?? [])}
        />
        <StopButton state={state} />
        {text === "" && isTouched() && <FilePicker label="Take a picture" icon="camera" add={add} isCamera />}
        {text.trim() === "" && files.value.length === 0 ? (
          <VoiceButton recording={recording} fault={fault} />
        ) : (
          <SendButton />
        )}
      </div>
    </form>
  );
}

function Fault({ text }: { text: string }) {
  return text === "" ? null : (
    <p class="small failure" role="alert">
      {text}
    </p>
  );
}

/** Whether a key sends the message. */
function isSending({ key, shiftKey, isComposing }: KeyboardEvent): boolean {
  return key === "Enter" && !shiftKey && !isComposing && !isTouched();
}

/** Whether this is a phone or tablet. */
function isTouched(): boolean {
  return matchMedia("(pointer: coarse)").matches;
}

function StopButton({ state }: { state: ConsoleState }) {
  if (!state.conversation.value.isRunning.value) return null;
  return (
    <button
      type="button"
      class="round"
      aria-label="Stop"
      title="Stop (Esc)"
      onClick={() => void state.stop()}
    >
      <Icon name="stop" />
    </button>
  );
}

function SendButton() {
  return (
    <button type="submit" class="round primary" aria-label="Send">
      <Icon name="send" />
    </button>
  );
}

/** The commands that a slash and the letters after it may become. */
function Offers({ offered, onChosen }: { offered: typeof commands; onChosen: (name: string) => void }) {
  if (offered.length === 0) return null;
  return (
    <ul class="offers" aria-label="Commands">
      {offered.map(([name, does]) => (
        <li>
          <button type="button" onClick={() => onChosen(name)}>
            <b>{name}</b> {does}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The files of the next message. A click removes one. */
function ChosenFiles({ files }: { files: Signal<File[]> }) {
  if (files.value.length === 0) return null;
  return (
    <ul class="files">
      {files.value.map((file) => (
        <li>
          <button
            type="button"
            class="chip"
            aria-label={`Remove ${file.name}`}
            onClick={() => {
              files.value = files.value.filter((one) => one !== file);
            }}
          >
            {file.name} <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

interface FilePickerProps {
  label: string;
  icon: IconName;
  add: (files: Iterable<File>) => void;
  /** A phone opens its camera. */
  isCamera?: boolean;
}

function FilePicker({ label, icon, add, isCamera = false }: FilePickerProps) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple={!isCamera}
        accept={isCamera ? "image/*" : undefined}
        capture={isCamera ? "environment" : undefined}
        hidden
        aria-label={label}
        onChange={({ currentTarget }) => {
          add(currentTarget.files ?? []);
          currentTarget.value = "";
        }}
      />
      <button
        type="button"
        class="round"
        aria-label={label}
        title={label}
        onClick={() => picker.current?.click()}
      >
        <Icon name={icon} />
      </button>
    </>
  );
}

/** Makes a box as high as its text, up to a limit. */
function useGrowing(box: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, maxBoxPixels)}px`;
  }, [box, text]);
}

/** Accepts files that are dropped anywhere on the page. */
function useDrop(add: (files: Iterable<File>) => void): void {
  useEffect(() => {
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      add(event.dataTransfer?.files ?? []);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
}

function asOutboxFile(file: File): OutboxFile {
  const kind = file.type.split("/")[0];
  const type = kind === "image" || kind === "audio" || kind === "video" ? kind : "document";
  return { type, filename: file.name, blob: file };
}
