import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { afterEach, expect, it } from "vitest";
import { newFolder } from "../../../support/run/test-folders.ts";
import { until } from "../../../support/until.ts";
import { killLeftovers, startGsv } from "../../gsv-process.ts";
import { gsv } from "../../run-gsv.ts";

afterEach(() => {
  killLeftovers();
  // `gsv dev` sets this for its process, which is also that of other tests here. 0 restores V8's default.
  setFlagsFromString("--heap-growing-percent=0");
});

it("gsv dev ends at a signal, even while the full disk keeps the folder's node from connecting", async () => {
  const cwd = newFolder();
  await gsv(["dev"], { cwd });
  const { size } = statSync(join(cwd, ".gsv/table/log-1"));
  // The kernel's limit of a file's size simulates a full disk. By default it kills the process.
  const NODE_OPTIONS = "--import=data:text/javascript,process.on('SIGXFSZ',()=>{})";
  const { child, ended } = startGsv(cwd, ["dev"], { NODE_OPTIONS });
  execFileSync("prlimit", [`--fsize=${size + 2500}:`, "--pid", String(child.pid)]);
  const nodeLog = join(cwd, ".gsv/logs/node.log");
  await until(() => /refused to connect/.test(readFileSync(nodeLog, "utf8")));
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});
