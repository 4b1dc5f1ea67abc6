/**
 * Facts of a provider's HTTP responses that its client does not pass on. In chat completions, the client joins calls that have
 * the same id: such an id is removed from all but the first, and call-ids.ts assigns new ones.
 */
export interface ResponseWatch {
  fetch: typeof fetch;
  /** Status of the last response; undefined when there was none. */
  status?: number;
  /** The error code of the last connection if it failed, such as ECONNREFUSED, or the reason without a code. */
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
        watch.unreachable = reasonOf(error);
        throw error;
      });
      const { status, statusText, headers, body } = response;
      watch.status = status;
      watch.retryAfterMs = retryAfter(headers, Date.now());
      const shouldRetry = headers.get("x-should-retry");
      watch.mayRetry = shouldRetry === null ? undefined : shouldRetry === "true";
      if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
      const indexOfId = new Map<string, number>();
      const watched = body.pipeThrough(onLines((line) => watchLine(watch, indexOfId, line)));
      return new Response(watched, { status, statusText, headers });
    },
  };
  return watch;
}

/** The error code or the reason of a failed connection; undefined for a request that we aborted. */
function reasonOf(error: unknown): string | undefined {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  if (name === "AbortError" || name === "TimeoutError") return undefined;
  return cause?.code || cause?.message || "no connection";
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

/** Replaces each complete line. */
function onLines(replace: (line: string) => string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let begun = "";
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (begun + decoder.decode(chunk, { stream: true })).split("\n");
      begun = lines.pop() ?? "";
      if (lines.length > 0)
        controller.enqueue(encoder.encode(lines.map((line) => `${replace(line)}\n`).join("")));
    },
    flush(controller) {
      controller.enqueue(encoder.encode(replace(begun)));
    },
  });
}

/** The fields of a streamed chunk that are used. */
interface Chunk {
  choices?: { delta?: { refusal?: unknown; tool_calls?: { index?: unknown; id?: string }[] } }[];
  usage?: { cost?: unknown } | null;
}

/** Records what the line says. Returns it without the ids that calls with another index have. */
function watchLine(watch: ResponseWatch, indexOfId: Map<string, number>, line: string): string {
  if (!/"tool_calls"|"refusal":\s*"|"cost":\s*\d/.test(line)) return line;
  try {
    const chunk: Chunk = JSON.parse(line.replace(/^data:/, ""));
    const { refusal, tool_calls } = chunk.choices?.[0]?.delta ?? {};
    if (typeof refusal === "string") watch.refusal += refusal;
    if (typeof chunk.usage?.cost === "number") watch.cost = chunk.usage.cost;
    let isChanged = false;
    for (const call of tool_calls ?? []) {
      if (!call.id || typeof call.index !== "number") continue;
      if (!indexOfId.has(call.id)) indexOfId.set(call.id, call.index);
      if (indexOfId.get(call.id) === call.index) continue;
      delete call.id;
      isChanged = true;
    }
    return isChanged ? `data: ${JSON.stringify(chunk)}` : line;
  } catch {
    // The client reports a malformed stream.
    return line;
  }
}
