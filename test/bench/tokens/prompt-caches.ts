import { createHash } from "node:crypto";

/** How a provider bills the tokens of one request. */
export interface Billed {
  /** Tokens of the whole request. */
  total: number;
  /** Read from the cache. */
  read: number;
  /** Written to the cache for five minutes, and for an hour. Not billed separately by OpenAI. */
  write: number;
  writeLong: number;
}

/** A provider's prompt cache. `now`: epoch ms. */
export interface PromptCache {
  bill(body: unknown, now: number): Billed;
}

const minute = 60_000;
const tokensOf = (text: string) => Buffer.byteLength(text) / 4;
const chained = (before: string, text: string) =>
  createHash("sha1").update(before).update(text).digest("hex");

interface AnthropicBody {
  tools?: object[];
  system?: object[] | string;
  messages: { role: string; content: object[] | string }[];
}

interface Marked {
  cache_control?: { ttl?: "5m" | "1h" };
}

/**
 * Anthropic's cache, as "Prompt caching" in its documentation describes it. A request is a list of blocks: tools, system,
 * messages. A block with `cache_control` is a breakpoint: the prefix up to it is written. At each breakpoint, up to 20 blocks
 * back, a prefix that an earlier request wrote is a hit. A hit renews the lifetime. Prefixes below 1,024 tokens are not cached.
 */
export function anthropicCache(): PromptCache {
  const lookback = 20;
  const minTokens = 1024;
  const ends = new Map<string, { until: number; ms: number }>();
  return {
    bill(body, now) {
      const blocks = blocksOf(body as AnthropicBody);
      const prefixes: { hash: string; tokens: number; ttl: "5m" | "1h" | undefined }[] = [];
      let [hash, tokens] = ["", 0];
      for (const { cache_control: mark, ...block } of blocks) {
        const text = JSON.stringify(block);
        hash = chained(hash, text);
        tokens += tokensOf(text);
        prefixes.push({ hash, tokens, ttl: mark && (mark.ttl ?? "5m") });
      }
      const breakpoints = prefixes.flatMap(({ ttl, tokens: upTo }, index) =>
        ttl && upTo >= minTokens ? [index] : [],
      );
      const isWarm = (index: number) => (ends.get(prefixes[index]?.hash ?? "")?.until ?? 0) > now;
      const hits = breakpoints.flatMap((breakpoint) => {
        for (let index = breakpoint; index >= Math.max(0, breakpoint - lookback); index--)
          if (isWarm(index)) return [index];
        return [];
      });
      const hit = Math.max(-1, ...hits);
      for (let index = 0; index <= hit; index++) renew(prefixes[index]?.hash ?? "", now);
      const billed: Billed = { total: tokens, read: prefixes[hit]?.tokens ?? 0, write: 0, writeLong: 0 };
      let from = billed.read;
      for (const index of breakpoints) {
        const { hash: end, tokens: upTo, ttl } = prefixes[index] as (typeof prefixes)[number];
        if (index <= hit) continue;
        billed[ttl === "1h" ? "writeLong" : "write"] += upTo - from;
        from = upTo;
        const ms = ttl === "1h" ? 60 * minute : 5 * minute;
        ends.set(end, { until: now + ms, ms });
      }
      return billed;
    },
  };

  function renew(end: string, now: number): void {
    const entry = ends.get(end);
    if (entry && entry.until > now) entry.until = now + entry.ms;
  }
}

function blocksOf({ tools = [], system = [], messages }: AnthropicBody): (object & Marked)[] {
  const listed = (content: object[] | string) =>
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  const spoken = messages.flatMap(({ role, content }) =>
    listed(content).map((block) => ({ role, ...block })),
  );
  return [...tools, ...listed(system), ...spoken];
}

/**
 * OpenAI's automatic cache, as "Prompt caching" in its documentation describes it: the longest prefix that an earlier request
 * had, in steps of 128 tokens from 1,024 tokens on. An unused prefix lives 5 to 10 minutes; here 5.
 */
export function openAiCache(): PromptCache {
  const stepBytes = 128 * 4;
  const minTokens = 1024;
  const known = new Map<string, number>();
  return {
    bill(body, now) {
      const { tools, messages } = body as { tools?: unknown[]; messages: unknown[] };
      const text = [...(tools ?? []), ...messages].map((one) => JSON.stringify(one)).join("\n");
      const bytes = Buffer.from(text);
      let [hash, read, isPrefix] = ["", 0, true];
      for (let at = stepBytes; at <= bytes.length; at += stepBytes) {
        hash = chained(hash, bytes.toString("latin1", at - stepBytes, at));
        isPrefix &&= (known.get(hash) ?? 0) > now;
        if (isPrefix) read = at / 4;
        known.set(hash, now + 5 * minute);
      }
      return { total: bytes.length / 4, read: read < minTokens ? 0 : read, write: 0, writeLong: 0 };
    },
  };
}
