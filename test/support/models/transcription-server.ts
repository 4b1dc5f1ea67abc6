import {
  type PlatformCall,
  type PlatformReply,
  type PlatformServer,
  startPlatformServer,
} from "../platforms/platform-server.ts";

/** File extensions by which the API recognizes a recording's format. */
const formats = /\.(flac|mp3|mp4|mpeg|mpga|m4a|ogg|wav|webm)$/;

const maxBytes = 25 * 1024 * 1024;

export interface Recording {
  name: string;
  type: string;
  /** The recording's length. */
  bytes: number;
  model: string;
}

export interface TranscriptionServer extends PlatformServer {
  apiKey: string;
  /** The accepted recordings. */
  recordings: Recording[];
}

/**
 * A server on 127.0.0.1 that transcribes every recording to the same text, under `{url}/v1` (reference:
 * https://platform.openai.com/docs/api-reference/audio/createTranscription).
 */
export async function startTranscriptionServer(
  text: string,
  /** Awaited before each answer. */
  gate: () => Promise<unknown> = async () => {},
): Promise<TranscriptionServer> {
  const recordings: Recording[] = [];
  const apiKey = "sk-test-of-a-transcription-server";
  const server = await startPlatformServer(async (call) => {
    const recording = read(call, apiKey);
    if ("status" in recording) return recording;
    recordings.push(recording);
    await gate();
    return { status: 200, body: { text, usage: { type: "duration", seconds: 3 } } };
  });
  return { ...server, apiKey, recordings };
}

function read({ method, path, headers, form }: PlatformCall, apiKey: string): Recording | PlatformReply {
  if (method !== "POST" || path !== "/v1/audio/transcriptions") return fault(404, "Invalid URL");
  if (headers.authorization !== `Bearer ${apiKey}`) return fault(401, "Incorrect API key provided");
  const file = form?.get("file");
  const model = form?.get("model");
  if (!(file instanceof File)) return fault(400, "file: field required");
  if (typeof model !== "string" || model === "") return fault(400, "model: field required");
  if (!formats.test(file.name)) return fault(400, `Invalid file format: ${file.name}`);
  if (file.size > maxBytes) return fault(413, "Maximum content size limit exceeded");
  if ((form?.get("response_format") ?? "json") !== "json")
    return fault(400, "response_format: not supported");
  return { name: file.name, type: file.type, model, bytes: file.size };
}

function fault(status: number, message: string): PlatformReply {
  return { status, body: { error: { message, type: "invalid_request_error", param: null, code: null } } };
}
