import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { attackClasses } from "./classes.ts";

/** Tests of this folder that cover several classes. */
const general = ["classes.test.ts", "fuzz.test.ts", "rights-table.test.ts"];

/** Classes whose test is added with their fix. The list may only get shorter. */
const awaited = ["config-by-channel-users", "cross-session-leakage", "non-owner-exec"];

it("every class of attack has a test, and every test of this folder has a class", () => {
  const files = readdirSync(import.meta.dirname, { recursive: true }).map(String);
  const tests = files.filter((file) => file.endsWith(".test.ts") && !general.includes(file));
  const expected = attackClasses.filter(({ name, file }) => tests.includes(file) || !awaited.includes(name));
  expect(expected.map(({ file }) => file).sort()).toEqual(tests.sort());
});

it("a class has the name of its file, a description, and a source", () => {
  for (const { name, file, attack, advisories } of attackClasses) {
    expect(basename(file)).toBe(`${name}.test.ts`);
    expect(attack.length, name).toBeGreaterThan(20);
    expect(advisories.length, name).toBeGreaterThan(0);
    for (const advisory of advisories)
      expect(advisory).toMatch(
        /^(GHSA(-[2-9cfghjmpqrvwx]{4}){3}|CVE-\d{4}-\d{4,}|CWE-\d+)( \(CVE-\d{4}-\d+\))?$/,
      );
  }
  expect(new Set(attackClasses.map(({ name }) => name)).size).toBe(attackClasses.length);
});
