import { setTimeout as delay } from "node:timers/promises";
import { log } from "../../../shared/runtime/log.ts";
import type { Asked } from "./ask-model.ts";
import { type Deadline, withDeadline } from "./deadline.ts";
import { showImages, withoutImages } from "./image-blocks.ts";
import type { MediaCache } from "./media-cache.ts";
import type { CallModel, ModelCall, ModelOutcome } from "./model-call.ts";
import { paidCall } from "./paid-call.ts";
import { type KeySources, type Resolved, resolveModel } from "./resolve-model.ts";

/** @param wait the pause before a repeated call */
export function createCallModel(keys: KeySources, media: MediaCache, wait: Wait = pause): CallModel {
  const ask = repeating(wait);
  return async (call) => {
    try {
      const resolved = await resolveModel(keys, call.model);
      if ("error" in resolved) return { status: "failed", error: resolved.error, overflow: false };
      return await withDeadline(call.signal, call.timeoutMs, (deadline) =>
        // For a text-only model pi-ai puts a note in place of each image.
        resolved.model.input.includes("image")
          ? askWithImages(ask, resolved, call, media, deadline)
          : ask(resolved, call, deadline),
      );
    } finally {
      call.payment.account.release();
    }
  };
}

/** Calls a model that accepts images. If the provider may have refused an image, calls it once more without images. */
async function askWithImages(
  ask: Ask,
  resolved: Resolved,
  call: ModelCall,
  media: MediaCache,
  deadline: Deadline,
): Promise<ModelOutcome> {
  let hasStreamed = false;
  const onText = (text: string) => {
    hasStreamed = true;
    call.onText(text);
  };
  const messages = await showImages(call.messages, media);
  const outcome = await ask(resolved, { ...call, messages, onText }, deadline);
  if (hasStreamed || deadline.passed || !mayBlameImages(outcome)) return outcome;
  const blind = withoutImages(call.messages);
  if (!blind) return outcome;
  const { sessionId, model } = call;
  log("images.refused", { sessionId, provider: model.provider, model: model.id });
  const second = await ask(resolved, { ...call, messages: blind }, deadline);
  return second.status === "failed" && !second.overflow ? outcome : second;
}

/**
 * Whether a provider may have refused the call because of an image: it cannot read the image, or the model is text-only
 * and in no catalogue. The images stay in the transcript, so every later call would be refused too.
 */
function mayBlameImages(outcome: ModelOutcome): boolean {
  if (outcome.status !== "failed" || outcome.overflow) return false;
  return /image|pixel|\bvision\b|multimodal|too large|\b413\b/i.test(outcome.error);
}

/** Max repeats of a call after temporary failures. */
const maxRepeats = 2;

/** The wait before the first repeat if the provider asks for none; it is four times as long before the second. Milliseconds. */
const firstWaitMs = 500;

/** The longest accepted wait: enough for limits that are counted per minute. Milliseconds. */
const maxWaitMs = 60_000;

/** Max length of a repeat's reason, in characters. */
const maxReason = 300;

/** Waits until the time has passed or the signal aborts. Does not throw. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

const pause: Wait = (ms, signal) => delay(ms, undefined, { signal }).catch(() => {});

/** Calls a model, repeatedly if necessary. */
type Ask = (resolved: Resolved, call: ModelCall, deadline: Deadline) => Promise<ModelOutcome>;

/**
 * Repeats a call after a temporary failure: an overloaded provider, a rate limit, a broken stream. Nothing of a failed
 * call is committed. The wait is the one that the provider asks for, within the deadline of the call. A call whose answer
 * was cut off at our default limit is repeated at once with the model's own limit.
 */
function repeating(wait: Wait): Ask {
  return async (resolved, call, deadline) => {
    for (let repeats = 0; ; repeats++) {
      const asked = await paidCall(resolved, call, deadline);
      if (isCutByDefault(asked, resolved, call)) {
        call.onRepeat?.({ reason: `the answer is longer than ${resolved.maxTokens} tokens`, waitMs: 0 });
        return repeating(wait)({ ...resolved, maxTokens: undefined }, call, deadline);
      }
      if (asked.status !== "failed") return asked;
      const { passing, ...failed } = asked;
      if (!passing || repeats >= maxRepeats) return failed;
      const waitMs = passing.waitMs ?? Math.round(firstWaitMs * 4 ** repeats * (1 + Math.random() / 4));
      if (waitMs > maxWaitMs || waitMs >= deadline.leftMs())
        return { ...failed, error: tooLong(failed.error, waitMs) };
      announce(call, asked, waitMs);
      await wait(waitMs, deadline.signal);
      if (call.signal.aborted) return { status: "aborted" };
      if (deadline.passed) return failed;
    }
  };
}

/** Whether an answer was cut off at our default limit, rather than at a configured one or at the lower one of a budget. */
function isCutByDefault(asked: Asked, { maxTokens, model }: Resolved, call: ModelCall): boolean {
  if (maxTokens === undefined || call.maxTokens !== undefined || maxTokens >= model.maxTokens) return false;
  if (asked.status !== "answered" || asked.message.stopReason !== "length") return false;
  // Some servers report no tokens.
  return (asked.message.usage?.output || maxTokens) >= maxTokens;
}

function announce(
  call: ModelCall,
  { error, passing }: Extract<Asked, { status: "failed" }>,
  waitMs: number,
): void {
  const { sessionId, model } = call;
  log("model.repeat", { sessionId, provider: model.provider, model: model.id, waitMs });
  const reason = (passing?.brief ?? error).replace(/\s+/g, " ").slice(0, maxReason).toWellFormed();
  call.onRepeat?.({ reason, waitMs });
}

function tooLong(error: string, waitMs: number): string {
  return `${error} (The provider asks to wait ${Math.ceil(waitMs / 1000)} s, too long for this turn. Send your message again later.)`;
}
