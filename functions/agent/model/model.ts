import { log } from "../../../shared/runtime/log.ts";
import { type Deadline, withDeadline } from "./deadline.ts";
import type { MediaCache } from "./media-cache.ts";
import type { CallModel, ModelCall, ModelOutcome } from "./model-call.ts";
import { type Ask, pause, repeating, type Wait } from "./repeated-call.ts";
import { type KeySources, type Resolved, resolveModel } from "./resolve-model.ts";
import { showImages, withoutImages } from "./shown-images.ts";

/** @param wait lets time pass before a call is repeated */
export function createCallModel(keys: KeySources, media: MediaCache, wait: Wait = pause): CallModel {
  const ask = repeating(wait);
  return async (call) => {
    const resolved = await resolveModel(keys, call.model);
    if ("error" in resolved) return { status: "failed", error: resolved.error, overflow: false };
    return withDeadline(call.signal, call.timeoutMs, (deadline) =>
      // For a model without eyes pi-ai puts a note in place of each image.
      resolved.model.input.includes("image")
        ? askWithImages(ask, resolved, call, media, deadline)
        : ask(resolved, call, deadline),
    );
  };
}

/** Asks a model that takes images; once more without them where the provider may have refused the call for its images. */
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
 * Whether a provider may have refused the call for its images: one that it cannot read, or a model without eyes that no
 * catalogue knows. The images stay in the transcript, so every later call would be refused too.
 */
function mayBlameImages(outcome: ModelOutcome): boolean {
  if (outcome.status !== "failed" || outcome.overflow) return false;
  return /image|pixel|\bvision\b|multimodal|too large|\b413\b/i.test(outcome.error);
}
