/** Formats in the order of preference: Safari has no WebM. */
const formats = [
  { mimeType: "audio/webm;codecs=opus", extension: "webm" },
  { mimeType: "audio/mp4", extension: "m4a" },
] as const;

/** Enough for speech: an hour is about 14 MB. */
const bitsPerSecond = 32_000;

/** A voice message while it is recorded. */
export class VoiceRecording {
  /** Epoch ms. */
  readonly startedAt = Date.now();
  readonly #recorder: MediaRecorder;
  readonly #extension: string;
  readonly #pieces: Blob[] = [];

  private constructor(recorder: MediaRecorder, extension: string) {
    this.#recorder = recorder;
    this.#extension = extension;
    recorder.ondataavailable = ({ data }) => this.#pieces.push(data);
    recorder.start();
  }

  /** Asks for the microphone and records. @throws Error that says what the user can do */
  static async start(): Promise<VoiceRecording> {
    const format = formats.find(({ mimeType }) => globalThis.MediaRecorder?.isTypeSupported(mimeType));
    if (!format || !navigator.mediaDevices)
      throw new Error("This browser cannot record. Attach an audio file.");
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((error: DOMException) => {
      throw new Error(whyNot(error));
    });
    const { mimeType, extension } = format;
    return new VoiceRecording(
      new MediaRecorder(stream, { mimeType, audioBitsPerSecond: bitsPerSecond }),
      extension,
    );
  }

  /** Ends the recording and returns it. */
  async finish(): Promise<File> {
    await this.#stop();
    const [type] = this.#recorder.mimeType.split(";");
    return new File(this.#pieces, `voice.${this.#extension}`, { type });
  }

  /** Ends the recording and forgets it. */
  cancel(): void {
    void this.#stop();
  }

  async #stop(): Promise<void> {
    const stopped = new Promise((resolve) => {
      this.#recorder.onstop = resolve;
    });
    // A microphone that was unplugged has ended the recording already.
    if (this.#recorder.state !== "inactive") {
      this.#recorder.stop();
      await stopped;
    }
    for (const track of this.#recorder.stream.getTracks()) track.stop();
  }
}

function whyNot({ name, message }: DOMException): string {
  if (name === "NotFoundError") return "No microphone was found. Connect one, or attach an audio file.";
  if (name === "NotAllowedError")
    return "The page may not use the microphone. Allow it in the browser's settings for this page.";
  return `The microphone cannot be used: ${message}. Attach an audio file.`;
}
