import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Elapsed } from "../parts/elapsed.tsx";
import { Icon } from "../parts/icon.tsx";
import { VoiceRecording } from "./voice-recording.ts";

interface VoiceButtonProps {
  recording: Signal<VoiceRecording | undefined>;
  /** Receives what the user can do when the recording cannot start. */
  fault: Signal<string>;
}

/** Starts a voice message. */
export function VoiceButton({ recording, fault }: VoiceButtonProps) {
  const isStarting = useSignal(false);
  const start = async () => {
    fault.value = "";
    isStarting.value = true;
    try {
      recording.value = await VoiceRecording.start();
    } catch (error) {
      fault.value = (error as Error).message;
    }
    isStarting.value = false;
  };
  return (
    <button
      type="button"
      class="round"
      aria-label="Record a voice message"
      title="Record a voice message"
      disabled={isStarting.value}
      onClick={() => void start()}
    >
      <Icon name="microphone" />
    </button>
  );
}

interface RecordingBoxProps {
  recording: Signal<VoiceRecording | undefined>;
  onFile: (file: File) => void;
}

/** The box while a voice message is recorded: its length, and how to send or cancel it. */
export function RecordingBox({ recording, onFile }: RecordingBoxProps) {
  const running = recording.value;
  useEffect(() => () => running?.cancel(), [running]);
  if (!running) return null;
  const send = async () => {
    const file = await running.finish();
    recording.value = undefined;
    onFile(file);
  };
  const cancel = () => {
    recording.value = undefined;
  };
  return (
    <div
      class="box recording"
      role="group"
      aria-label="Voice message"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        cancel();
      }}
    >
      <button type="button" class="round" aria-label="Cancel the recording" onClick={cancel}>
        <Icon name="close" />
      </button>
      <span class="level" />
      <span class="length" role="timer" aria-label="Recorded">
        <Elapsed since={running.startedAt} />
      </span>
      <button
        type="button"
        class="round primary"
        aria-label="Send the recording"
        ref={(element) => element?.focus()}
        onClick={() => void send()}
      >
        <Icon name="send" />
      </button>
    </div>
  );
}
