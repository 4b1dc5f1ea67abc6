import { afterEach, beforeEach, expect, it } from "vitest";
import { beginGuarded, findUnchosen } from "../../shared/approvals/first-mode.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let configuration: ConfigurationStore;

beforeEach(async () => {
  state = await startState();
  configuration = openConfiguration(state.table, state.openSecrets("/gsv/t"));
});
afterEach(() => state.close());

it("guards a new gateway, and keeps a mode that was chosen", async () => {
  const { table } = state;
  await beginGuarded(table);
  expect((await configuration.load({ fresh: true })).toolApproval.mode).toBe("guard");
  await configuration.set("toolApproval.mode", "off");
  await beginGuarded(table);
  expect((await configuration.load({ fresh: true })).toolApproval.mode).toBe("off");
});

it("asks nothing in a gateway where nobody has chosen, and is new to its owner once", async () => {
  const { table } = state;
  await configuration.set("systemPrompt", "be brief");
  expect((await configuration.load({ fresh: true })).toolApproval.mode).toBe("off");
  const found = await Promise.all(Array.from({ length: 3 }, () => findUnchosen(table, configuration)));
  expect(found.sort()).toEqual(["new", "told", "told"]);
  expect(await findUnchosen(table, configuration)).toBe("told");
  await configuration.set("toolApproval.mode", "off");
  expect(await findUnchosen(table, configuration)).toBeUndefined();
});
