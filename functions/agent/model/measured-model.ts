import type { Metrics } from "../../../shared/world/world.ts";
import type { CallModel } from "./model-call.ts";

/** Measures the answered calls of a model. */
export function measureModel(callModel: CallModel, metrics: Metrics, now: () => number): CallModel {
  return async (call) => {
    const begun = now();
    let firstText: number | undefined;
    const onText = (text: string) => {
      firstText ??= now();
      call.onText(text);
    };
    const outcome = await callModel({ ...call, onText });
    if (outcome.status !== "answered") return outcome;
    const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = outcome.message.usage ?? {};
    await metrics.record({
      ...(call.wokenAt === undefined || firstText === undefined
        ? {}
        : { WakeToFirstToken: firstText - call.wokenAt }),
      ModelTime: now() - begun,
      InputTokens: input + cacheRead + cacheWrite,
      OutputTokens: output,
    });
    return outcome;
  };
}
