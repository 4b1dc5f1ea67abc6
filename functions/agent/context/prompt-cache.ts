import { LRUCache } from "lru-cache";
import { storeText } from "../../../shared/objects/text-store.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { assign, type SessionState } from "../../../shared/session/state.ts";
import type { Step } from "../../../shared/world/expression.ts";
import type { Bucket } from "../../../shared/world/world.ts";
import type { AssembledPrompt } from "./prompt.ts";

/** Prompts that a warm function remembers as stored. */
const maxKnown = 1000;

/** Digits of a prompt's hash that its session notes: 48 bits. Earlier versions have noted all 64 digits. */
const notedDigits = 12;

function isNoted({ promptHash }: SessionState, hash: string): boolean {
  return promptHash !== undefined && hash.startsWith(promptHash);
}

/** Keeps the texts of the prompts that replies are made from. Most calls send no request: the prompt is stored already. */
export interface KeptPrompts {
  /**
   * Stores a prompt's text, unless it is known to be stored. Does not throw: a text that cannot be stored is missing among
   * the objects, and the next call tries again.
   */
  keep(state: SessionState, agentId: string, prompt: AssembledPrompt): Promise<void>;
  /** The steps that note in the session which prompt its newest reply was made from, once its text is stored. */
  steps(state: SessionState, agentId: string, prompt: AssembledPrompt): Step[];
}

export function createKeptPrompts(bucket: Bucket): KeptPrompts {
  // With `max` the cache would allocate all its entries at each cold start.
  const known = new LRUCache<string, true>({ maxSize: maxKnown, sizeCalculation: () => 1 });
  const nameOf = (agentId: string, { hash }: AssembledPrompt) => `${agentId} ${hash}`;
  return {
    async keep(state, agentId, prompt) {
      const { hash, stable: text } = prompt;
      const name = nameOf(agentId, prompt);
      try {
        if (!isNoted(state, hash) && !known.has(name)) await storeText(bucket, agentId, { hash, text });
        known.set(name, true);
      } catch (error) {
        logError("prompt.unkept", error, { sessionKey: state.sessionKey, hash });
      }
    },
    steps(state, agentId, prompt) {
      const isNew = !isNoted(state, prompt.hash) && known.has(nameOf(agentId, prompt));
      return isNew ? [assign("promptHash", prompt.hash.slice(0, notedDigits))] : [];
    },
  };
}
