import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pageFile, troubleshootingPage } from "./troubleshooting.ts";

it("docs/troubleshooting.md is what `npm run docs:troubleshooting` writes", () => {
  expect(readFileSync(pageFile, "utf8")).toBe(troubleshootingPage());
});

it("docs/troubleshooting.md names no line of the log that no function logs", () => {
  const names = [...troubleshootingPage().matchAll(/log: ([a-z.]+)|or ([a-z]+\.[a-z]+)/g)].map(
    ([, first, second]) => first ?? second,
  );
  const files = execFileSync("git", ["ls-files", "functions", "shared"], { encoding: "utf8" }).split("\n");
  const code = files
    .filter((file) => existsSync(file) && file.endsWith(".ts"))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
  expect(new Set(names).size).toBe(4);
  expect(names.filter((name) => !code.includes(`"${name}"`))).toEqual([]);
});
