import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openRotatingLog } from "../../../cli/commands/daemon/rotating-log.ts";
import { newFolder } from "../../support/run/test-folders.ts";

it("a log keeps the newest lines in three files of a bounded size, which only the user can read", () => {
  const file = join(newFolder(), "state/gsv/node.log");
  const log = openRotatingLog(file, 20);
  for (let line = 1; line <= 20; line++) log(`line ${line}`);
  const text = (name: string) => readFileSync(name, "utf8");
  expect(text(`${file}.2`) + text(`${file}.1`) + text(file)).toMatch(/^line 1\d\n(line \d+\n)+line 20\n$/);
  for (const name of [file, `${file}.1`, `${file}.2`]) expect(statSync(name).size).toBeLessThan(30);
  expect(existsSync(`${file}.3`)).toBe(false);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it("a log continues where the previous process ended", () => {
  const file = join(newFolder(), "node.log");
  openRotatingLog(file, 10)("twelve bytes");
  openRotatingLog(file, 10)("next");
  expect(readFileSync(file, "utf8")).toBe("next\n");
  expect(readFileSync(`${file}.1`, "utf8")).toBe("twelve bytes\n");
});
