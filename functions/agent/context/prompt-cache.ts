import { LRUCache } from "lru-cache";
import { readText, storeText } from "../../../shared/objects/text-store.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { assign, type SessionState } from "../../../shared/session/state.ts";
import type { Step } from "../../../shared/world/expression.ts";
import type { Bucket } from "../../../shared/world/world.ts";
import type { AssembledPrompt } from "./prompt.ts";

/** How many prompts a warm function remembers as stored. */
const maxKnown = 1000;

/** How many prompts' texts a warm function keeps. */
const maxTexts = 20;

/** Hex digits of a prompt's hash in the session item: 48 bits. Earlier versions wrote all 64 digits. */
const recordedDigits = 12;

function isRecorded({ promptHash }: SessionState, hash: string): boolean {
  return promptHash !== undefined && hash.startsWith(promptHash);
}

/** Stores the texts of the prompts that replies are made from. Most calls send no request: the prompt is already stored. */
export interface PromptCache {
  /**
   * Stores a prompt's text, unless it is known to be stored. Does not throw: after a failure the next call tries again.
   */
  store(state: SessionState, agentId: string, prompt: AssembledPrompt): Promise<void>;
  /** The text of a stored prompt, by its hash; undefined when it was not stored or cannot be read. */
  read(agentId: string, hash: string): Promise<string | undefined>;
  /** The steps that record in the session which prompt its newest reply was made from, once its text is stored. */
  steps(state: SessionState, agentId: string, prompt: AssembledPrompt): Step[];
}

export function createPromptCache(bucket: Bucket): PromptCache {
  // With `max` the cache would allocate all its entries at each cold start.
  const known = new LRUCache<string, true>({ maxSize: maxKnown, sizeCalculation: () => 1 });
  const texts = new LRUCache<string, string>({ maxSize: maxTexts, sizeCalculation: () => 1 });
  const nameOf = (agentId: string, { hash }: Pick<AssembledPrompt, "hash">) => `${agentId} ${hash}`;
  return {
    async store(state, agentId, prompt) {
      const { hash, text } = prompt;
      const name = nameOf(agentId, prompt);
      texts.set(name, text);
      try {
        if (!isRecorded(state, hash) && !known.has(name)) await storeText(bucket, agentId, { hash, text });
        known.set(name, true);
      } catch (error) {
        logError("prompt.unkept", error, { sessionKey: state.sessionKey, hash });
      }
    },
    async read(agentId, hash) {
      const name = nameOf(agentId, { hash });
      const text = texts.get(name) ?? (await readText(bucket, agentId, hash).catch(unread(agentId, hash)));
      if (text !== undefined) texts.set(name, text);
      return text;
    },
    steps(state, agentId, prompt) {
      const isNew = !isRecorded(state, prompt.hash) && known.has(nameOf(agentId, prompt));
      return isNew ? [assign("promptHash", prompt.hash.slice(0, recordedDigits))] : [];
    },
  };
}

const unread = (agentId: string, hash: string) => (error: unknown) => {
  logError("prompt.unread", error, { agentId, hash });
  return undefined;
};
