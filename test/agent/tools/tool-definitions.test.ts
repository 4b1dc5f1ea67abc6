import { expect, it } from "vitest";
import { nativeTools } from "../../../functions/agent/tools/native/native-tools.ts";
import definitions from "../../../shared/protocol/native-tools.json" with { type: "json" };

it("the model sees the native tools as the contract defines them", () => {
  expect(nativeTools.map(({ definition }) => definition)).toEqual(definitions);
});
