import { isOwn, isTokens, type Limit, type Price } from "./rules.ts";

/** Below this many tokens of an answer a limit counts as reached. */
const minCap = 1024;

/** A limit is near if less than this share of it is left. */
const nearShare = 0.2;

/** It is far if more than that is left, and more than this many upper bounds for each session of the day. */
const farCalls = 2;

/** The upper bound of a call. */
export interface Bound {
  inputTokens: number;
  inputMicros: number;
  microsPerOutputToken: number;
  /** Max tokens of the answer. */
  cap: number;
}

/** A limit with what is used of it, reservations of others included. */
export interface UsedLimit extends Limit {
  used: number;
}

/**
 * Whether a call fits its limits. `cap`: max tokens of the answer, lowered so that the call fits. `isFar`: it may begin while it
 * is being reserved. `isNear`: a call that can wait has to.
 */
export type Fit = { cap: number; isFar: boolean; isNear: boolean } | { reached: UsedLimit };

/** The most that a call may cost. */
export function boundPrice({ inputTokens, inputMicros, microsPerOutputToken, cap }: Bound): Price {
  return { micros: Math.ceil(inputMicros + cap * microsPerOutputToken), tokens: inputTokens + cap };
}

/** The least that a call costs with an answer that is worth paying for. */
export function leastPrice(bound: Bound): Price {
  return boundPrice({ ...bound, cap: Math.min(bound.cap, minCap) });
}

/** @param sessions the number of sessions that have spent something today */
export function fitLimits(limits: readonly UsedLimit[], bound: Bound, sessions: number): Fit {
  const price = boundPrice(bound);
  let { cap } = bound;
  let [isFar, isNear] = [true, false];
  for (const limit of limits) {
    if (limit.rule.atLimit === "warn") continue;
    const ofTokens = isTokens(limit.scope);
    const need = ofTokens ? price.tokens : price.micros;
    if (need === 0) continue;
    const left = limit.max - limit.used;
    if (
      isOwn(limit.scope) === undefined &&
      left <= Math.max(nearShare * limit.max, farCalls * Math.max(1, sessions) * need)
    )
      isFar = false;
    if (left - need < nearShare * limit.max) isNear = true;
    const fits = capWithin(
      left,
      ofTokens ? { ...bound, inputMicros: bound.inputTokens, microsPerOutputToken: 1 } : bound,
    );
    if (fits < Math.min(minCap, bound.cap)) return { reached: limit };
    cap = Math.min(cap, fits);
  }
  return { cap, isFar, isNear };
}

/** The most tokens of an answer with which a call costs no more than `left`; below 0 if there is none. */
function capWithin(left: number, bound: Bound): number {
  const { inputMicros, microsPerOutputToken, cap } = bound;
  const price = (cap: number) => boundPrice({ ...bound, cap }).micros;
  if (price(cap) <= left) return cap;
  if (microsPerOutputToken === 0) return -1;
  let fits = Math.floor((left - inputMicros) / microsPerOutputToken);
  // The price is rounded up.
  while (fits >= 0 && price(fits) > left) fits -= 1;
  return fits;
}
