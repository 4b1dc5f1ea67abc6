import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { boundPrice } from "../../../shared/spend/fit.ts";
import type { CallSize, Occasion, Refusal } from "../../../shared/spend/session-account.ts";
import { type Measured, promptCharacters, requestTokens, totalCharacters } from "../context/context-size.ts";
import { type Asked, askOnce } from "./ask-model.ts";
import type { Deadline } from "./deadline.ts";
import type { ModelCall } from "./model-call.ts";
import type { DescribedModel, Resolved } from "./resolve-model.ts";

/**
 * Calls a model once and charges it: the only caller of model providers. An attempt begins when it is reserved, or while that is
 * being done; it ends if that fails. Does not throw when the provider fails.
 */
export async function paidCall(resolved: Resolved, call: ModelCall, deadline: Deadline): Promise<Asked> {
  if (call.signal.aborted) return { status: "aborted" };
  const { model } = resolved;
  const { account } = call.payment;
  const occasion = { ...call.payment.occasion, ...priceNames(call.model) };
  const { maxTokens = resolved.maxTokens } = call;
  const size = () => {
    const characters = promptCharacters(call.systemPrompt, call.tools) + totalCharacters(call.messages);
    return callSize({ ...call, characters, maxTokens }, model);
  };
  const admission = account.prepared() ?? (await account.admit(occasion, size()));
  if (admission.status === "refused") return refused(admission);
  const { hold, cap, bound } = admission;
  const limited = { ...resolved, model: { ...model, maxTokens: Math.min(model.maxTokens, cap) } };
  const { asked, billed } = await untilRefused(admission, deadline, (until) =>
    askOnce(limited, cap < bound.cap ? { ...call, maxTokens: Math.min(maxTokens ?? cap, cap) } : call, until),
  );
  const refusal = await admission.reserved;
  const charged =
    typeof billed === "object" && "streamedTokens" in billed
      ? { estimate: boundPrice({ ...bound, cap: Math.min(cap, billed.streamedTokens) }) }
      : billed;
  await account.charge(hold, occasion, model.cost, charged);
  return refusal === undefined ? asked : refused(refusal);
}

/** A model as prices and reports name it. */
export function priceNames({
  provider,
  id,
  baseUrl,
}: ModelConfiguration): Pick<Occasion, "model" | "server"> {
  return { model: `${provider}/${id}`, server: baseUrl };
}

const refused = ({ error, ask }: Refusal) =>
  ({ status: "failed", error, overflow: false, ...(ask ? { ask } : {}) }) as const;

/** A call's size. `maxTokens`: of its answer, unless that is the model's own limit. */
interface Planned extends Pick<ModelCall, "cacheRetention"> {
  characters: number;
  measured?: Measured;
  maxTokens: number | undefined;
  thinkingLevel?: ModelCall["thinkingLevel"] | undefined;
}

/** The most that a call can use. Clients add the thinking to a limit, up to the model's own. */
export function callSize(
  { characters, measured = {}, maxTokens, thinkingLevel = "off", cacheRetention }: Planned,
  model: Pick<DescribedModel, "maxTokens" | "cost">,
): CallSize {
  const limit = maxTokens ?? model.maxTokens;
  return {
    inputTokens: requestTokens(characters, measured),
    maxTokens: thinkingLevel === "off" ? limit : Math.max(limit, model.maxTokens),
    ...(model.cost ? { listed: model.cost } : {}),
    ...(cacheRetention ? { cacheRetention } : {}),
  };
}

/** Does the work; its deadline also ends when the reservation fails. */
async function untilRefused<T>(
  { reserved }: { reserved: Promise<Refusal | undefined> },
  deadline: Deadline,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const end = () => controller.abort();
  if (deadline.signal.aborted) end();
  deadline.signal.addEventListener("abort", end);
  reserved.then(
    (refusal) => refusal === undefined || end(),
    () => end(),
  );
  try {
    const until: Deadline = {
      signal: controller.signal,
      get passed() {
        return deadline.passed;
      },
      leftMs: deadline.leftMs,
    };
    return await work(until);
  } finally {
    deadline.signal.removeEventListener("abort", end);
  }
}
