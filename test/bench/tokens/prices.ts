import type { Billed } from "./prompt-caches.ts";

/** US dollars per million tokens. */
export interface Prices {
  input: number;
  read: number;
  write: number;
  writeLong: number;
  output: number;
}

/** List prices of Claude Sonnet 4.5 and GPT-5, as in pi-ai's catalogue. OpenAI does not bill writes. */
export const prices = {
  anthropic: { input: 3, read: 0.3, write: 3.75, writeLong: 6, output: 15 },
  openai: { input: 1.25, read: 0.125, write: 1.25, writeLong: 1.25, output: 10 },
} satisfies Record<string, Prices>;

export type Wire = keyof typeof prices;

/** The price of a request and its answer, in US dollars. */
export function dollars({ total, read, write, writeLong }: Billed, output: number, of: Prices): number {
  const plain = total - read - write - writeLong;
  const micros =
    plain * of.input + read * of.read + write * of.write + writeLong * of.writeLong + output * of.output;
  return micros / 1e6;
}

/** One request of a conversation. */
export interface Sent {
  session: string;
  /** Epoch ms. */
  at: number;
  /** Tokens of the request, and those of its tools and system prompt. */
  total: number;
  fixed: number;
  output: number;
}

/**
 * The least that these requests can cost: every token is written once in a lifetime of the cache, and read afterwards. For
 * each conversation with the cheaper of the two lifetimes. A request that is shorter than the last one starts a new
 * conversation behind the same tools and system prompt.
 */
export function idealDollars(requests: readonly Sent[], of: Prices): number {
  let sum = 0;
  for (const session of new Set(requests.map((request) => request.session))) {
    const sent = requests.filter((request) => request.session === session);
    const short = idealOf(sent, of, 5, "write");
    sum += of.writeLong === of.write ? short : Math.min(short, idealOf(sent, of, 60, "writeLong"));
  }
  return sum;
}

function idealOf(sent: readonly Sent[], of: Prices, minutes: number, kind: "write" | "writeLong"): number {
  let [sum, before] = [0, undefined as Sent | undefined];
  for (const request of sent) {
    const isWarm = before !== undefined && request.at - before.at < minutes * 60_000;
    const shared = before && request.total >= before.total ? before.total : request.fixed;
    const read = isWarm ? shared : 0;
    const billed = { total: request.total, read, write: 0, writeLong: 0, [kind]: request.total - read };
    sum += dollars(billed, request.output, of);
    before = request;
  }
  return sum;
}
