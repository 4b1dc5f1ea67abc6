import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { JudgedCall } from "../../shared/approvals/classes.ts";
import { judge, policyOf } from "../../shared/approvals/policy.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { fetchedFrom } from "../../shared/origins/fetched-from.ts";
import { joinOrigins, machineOrigin } from "../../shared/origins/origins.ts";

const tools = { r: "Read", e: "Edit", w: "Write", g: "Grep" } as const;

/** The call of a line; undefined for a line that is none. */
function callOf(line: string): JudgedCall | undefined {
  const [, word = "", rest = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
  const onLaptop = (bareName: string, args: JudgedCall["args"]) => ({
    ...{ tool: `laptop__${bareName}`, node: "laptop", bareName, args },
  });
  if (word === "$") return onLaptop("Bash", { command: rest });
  if (word === "g") return onLaptop("Grep", { pattern: rest.split(" ")[0], path: rest.split(" ")[1] });
  if (word in tools) return onLaptop(tools[word as keyof typeof tools], { path: rest });
  return word.startsWith("gsv__") ? { tool: word, bareName: word, args: JSON.parse(rest) } : undefined;
}

/** The questions of mode `guard`, where the words that a conversation has read stay until its end. */
async function questions(): Promise<{ turns: number; asked: string[] }> {
  const policy = policyOf({ ...defaults, toolApproval: { ...defaults.toolApproval, mode: "guard" } }, "main");
  const asked: string[] = [];
  let origins: string[] = [];
  let turns = 0;
  for (const line of readFileSync(`${import.meta.dirname}/ordinary-turns.txt`, "utf8").split("\n")) {
    if (line.startsWith("== ")) origins = [];
    if (line.startsWith("> ")) turns += 1;
    const call = callOf(line);
    if (!call) continue;
    const { decision, why } = await judge(policy, call, origins, async () => undefined);
    if (decision === "ask") asked.push(`${line}: ${why}`);
    const { node, bareName, args } = call;
    origins = joinOrigins(origins, node ? [machineOrigin(node), ...fetchedFrom(bareName, args)] : []);
  }
  return { turns, asked };
}

it("asks few questions in 100 turns of ordinary work", async () => {
  const { turns, asked } = await questions();
  console.info(`${asked.length} questions in ${turns} turns:\n${asked.join("\n")}`);
  expect(turns).toBe(100);
  expect(asked.length).toBeLessThanOrEqual(3);
});
