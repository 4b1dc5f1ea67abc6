/** Facts of a provider's HTTP responses that its client does not pass on. */
export interface ResponseWatch {
  fetch: typeof fetch;
  /** Status of the last response; undefined when there was none. */
  status?: number;
  /** The error code of the last connection if it failed, such as ECONNREFUSED. */
  unreachable?: string;
  /** The wait that the provider asks for, in milliseconds. */
  retryAfterMs?: number;
  /** Whether the provider says that the same request may succeed later. */
  mayRetry?: boolean;
  /** The refusal that the model sent instead of an answer (chat completions, `refusal`). */
  refusal: string;
  /** US dollars that the server reports for the call (chat completions, `usage.cost`). */
  cost?: number;
}

export function watchResponses(): ResponseWatch {
  const watch: ResponseWatch = {
    refusal: "",
    async fetch(input, init) {
      const request = fetch(input, init);
      watch.status = undefined;
      watch.unreachable = undefined;
      const response = await request.catch((error: unknown) => {
        watch.unreachable = codeOf(error);
        throw error;
      });
      const { status, statusText, headers, body } = response;
      watch.status = status;
      watch.retryAfterMs = retryAfter(headers, Date.now());
      const shouldRetry = headers.get("x-should-retry");
      watch.mayRetry = shouldRetry === null ? undefined : shouldRetry === "true";
      if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
      const watched = body.pipeThrough(onLines((line) => recordLine(watch, line)));
      return new Response(watched, { status, statusText, headers });
    },
  };
  return watch;
}

/** The error code of a failed connection; undefined for a request that we aborted. */
function codeOf(error: unknown): string | undefined {
  const { code } = (error as { cause?: { code?: unknown } }).cause ?? {};
  return typeof code === "string" ? code : undefined;
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const text = headers.get("retry-after") ?? "";
  const seconds = Number(text);
  const asked = text !== "" && Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now;
  return Number.isFinite(asked) ? Math.max(0, asked) : undefined;
}

/** Passes bytes through unchanged, and calls `show` with each complete line. */
function onLines(show: (line: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let begun = "";
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      const lines = (begun + decoder.decode(chunk, { stream: true })).split("\n");
      begun = lines.pop() ?? "";
      for (const line of lines) show(line);
    },
  });
}

/** The fields of a streamed chunk that are recorded. */
interface Chunk {
  choices?: { delta?: { refusal?: unknown } }[];
  usage?: { cost?: unknown } | null;
}

function recordLine(watch: ResponseWatch, line: string): void {
  if (!/"refusal":\s*"|"cost":\s*\d/.test(line)) return;
  try {
    const { choices, usage }: Chunk = JSON.parse(line.replace(/^data:/, ""));
    const refusal = choices?.[0]?.delta?.refusal;
    if (typeof refusal === "string") watch.refusal += refusal;
    if (typeof usage?.cost === "number") watch.cost = usage.cost;
  } catch {
    // The client reports a malformed stream.
  }
}
