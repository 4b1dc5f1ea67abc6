import {
  type PlatformCall,
  type PlatformReply,
  type PlatformServer,
  startPlatformServer,
} from "../platforms/platform-server.ts";

/** A request to speak, as the server accepted it. */
export interface SpeechRequest {
  model: string;
  voice: string;
  input: string;
}

export interface SpeechServer extends PlatformServer {
  apiKey: string;
  requests: SpeechRequest[];
  /** The audio of every answer. */
  audio: Buffer;
}

/**
 * A server on 127.0.0.1 that speaks every text as the same audio, under `{url}/v1` (reference:
 * https://platform.openai.com/docs/api-reference/audio/createSpeech).
 */
export async function startSpeechServer(): Promise<SpeechServer> {
  const requests: SpeechRequest[] = [];
  const apiKey = "sk-test-of-a-speech-server";
  const audio = Buffer.concat([Buffer.from("OggS"), Buffer.from([0, 2, 0xff, 0xfe, 0x80])]);
  const server = await startPlatformServer((call) => {
    const request = read(call, apiKey);
    if ("status" in request) return request;
    requests.push(request);
    return { status: 200, body: audio, headers: { "content-type": "audio/ogg" } };
  });
  return { ...server, apiKey, requests, audio };
}

function read({ method, path, headers, body }: PlatformCall, apiKey: string): SpeechRequest | PlatformReply {
  if (method !== "POST" || path !== "/v1/audio/speech") return fault(404, "Invalid URL");
  if (headers.authorization !== `Bearer ${apiKey}`) return fault(401, "Incorrect API key provided");
  const { model, voice, input, response_format, ...others } = body ?? {};
  for (const [name, value] of Object.entries({ model, voice, input }))
    if (typeof value !== "string" || value === "") return fault(400, `${name}: field required`);
  if (String(input).length > 4096) return fault(400, "input: string too long");
  if (response_format !== "opus") return fault(400, "response_format: this server speaks Opus only");
  if (Object.keys(others).length > 0) return fault(400, `Unknown parameter: ${Object.keys(others)[0]}`);
  return { model, voice, input } as SpeechRequest;
}

function fault(status: number, message: string): PlatformReply {
  return { status, body: { error: { message, type: "invalid_request_error", param: null, code: null } } };
}
