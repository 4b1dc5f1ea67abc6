import { expect, it } from "vitest";
import { nativeTools } from "../../../functions/agent/tools/native/native-tools.ts";
import definitions from "../../../shared/protocol/native-tools.json" with { type: "json" };

it("the model is told of the native tools, their arguments and what they are for, as the contract states", () => {
  expect(nativeTools.map(({ definition }) => definition)).toEqual(definitions);
});
