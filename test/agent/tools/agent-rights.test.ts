import { expect, it } from "vitest";
import { checkDelegate, mayUse } from "../../../functions/agent/tools/agent-rights.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";

const withTools = (tools: { allow?: string[]; deny?: string[] }) => ({
  agents: { ...defaults.agents, list: [{ id: "clerk", tools }] },
});

it.each([
  [{}, "gsv__Cron", true],
  [{ allow: [] }, "gsv__Cron", false],
  [{ allow: ["gsv__Cron"] }, "gsv__Cron", true],
  [{ allow: ["gsv__Cron"] }, "gsv__CronX", false],
  [{ allow: ["Cron"] }, "gsv__Cron", false],
  [{ allow: ["*__Read"] }, "laptop__Read", true],
  [{ allow: ["*__Read"] }, "laptop__ReadFile", false],
  [{ allow: ["l*__*a*"] }, "laptop__Bash", true],
  [{ allow: ["ab*ba"] }, "aba", false],
  [{ deny: ["laptop__*"] }, "laptop__Bash", false],
  [{ allow: ["*"], deny: ["*__Bash"] }, "pi__Bash", false],
  [{ deny: ["a.b"] }, "aXb", true],
])("the rights %j give %s: %s", (tools, name, allowed) => {
  expect(mayUse(withTools(tools), "clerk", name)).toBe(allowed);
  expect(mayUse(withTools(tools), "other", name)).toBe(true);
});

it("an agent addresses itself and its delegates", () => {
  const of = (delegates?: string[]) => ({
    agents: { ...defaults.agents, list: [{ id: "clerk", ...(delegates ? { delegates } : {}) }] },
  });
  expect(() => checkDelegate(of([]), "clerk", "clerk")).not.toThrow();
  expect(() => checkDelegate(of(["work"]), "clerk", "work")).not.toThrow();
  expect(() => checkDelegate(of(), "clerk", "work")).not.toThrow();
  expect(() => checkDelegate(of([]), "clerk", "work")).toThrow("clerk may not address the agent work");
});
