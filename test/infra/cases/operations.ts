import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { functionNames } from "../../../infra/permissions.ts";
import { synthesizeTemplate } from "../synthesis.ts";

/** The operator's page against the stack and the log. */
export function operationsCases(): void {
  const root = join(import.meta.dirname, "../../..");
  const page = readFileSync(join(root, "docs/operations.md"), "utf8");
  const sources = ["functions", "shared"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(root, folder, name),
      ),
    )
    .filter((path) => path.endsWith(".ts"))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");

  test("the operator's page explains every alarm, and no other", () => {
    const { Resources } = synthesizeTemplate() as { Resources: Record<string, { Type: string }> };
    const alarms = Object.entries(Resources)
      .filter(([, { Type }]) => Type === "AWS::CloudWatch::Alarm")
      .map(([id]) => id.replace(/^Failures(.*)[0-9A-F]{8}$/, "$1"));
    const explained = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual(alarms.sort());
  });

  test("every log event that the operator's page names is logged", () => {
    const named = [...page.matchAll(/`([a-z]+(?:\.[a-z]+)+)`/g)].map(([, name = ""]) => name);
    const events = named.filter((name) => !/^(timeouts\.|chat\.|model\.id$)/.test(name));
    expect(events.length).toBeGreaterThan(20);
    // A function's failure is logged under its own name.
    const isLogged = (name: string) =>
      sources.includes(`"${name}"`) || functionNames.some((one) => name === `${one}.failed`);
    expect(events.filter((name) => !isLogged(name))).toEqual([]);
  });
}
