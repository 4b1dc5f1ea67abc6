import { expect, it } from "vitest";
import { measureModel } from "../../../functions/agent/model/measured-model.ts";
import type { ModelCall, ModelOutcome } from "../../../functions/agent/model/model-call.ts";
import type { CallFigures } from "../../../shared/world/world.ts";

/** Calls a model that answers after the given times, and returns what is recorded. */
async function measured(call: Partial<ModelCall>, outcome: unknown, texts: readonly number[]) {
  let clock = 1000;
  const recorded: CallFigures[] = [];
  const model = async ({ onText }: ModelCall) => {
    for (const at of texts) {
      clock = at;
      onText("text");
    }
    clock = 1900;
    return outcome as ModelOutcome;
  };
  const metrics = { record: async (figures: CallFigures) => void recorded.push(figures) };
  const shown: string[] = [];
  const onText = (text: string) => void shown.push(text);
  await measureModel(model, metrics, () => clock)({ ...call, onText } as ModelCall);
  expect(shown).toHaveLength(texts.length);
  return recorded;
}

const usage = { input: 10, output: 7, cacheRead: 200, cacheWrite: 3000, total: 3217 };
const answered = { status: "answered", message: { usage } };
const figures = { ModelTime: 900, InputTokens: 3210, OutputTokens: 7 };

it("records the time to the first text of an invocation's first call, and the time and tokens of each", async () => {
  expect(await measured({ wokenAt: 950 }, answered, [1200, 1500])).toEqual([
    { WakeToFirstToken: 250, ...figures },
  ]);
  expect(await measured({}, answered, [1200])).toEqual([figures]);
  expect(await measured({ wokenAt: 950 }, answered, [])).toEqual([figures]);
});

it("records nothing of a call without an answer", async () => {
  expect(await measured({ wokenAt: 950 }, { status: "aborted" }, [1200])).toEqual([]);
});
