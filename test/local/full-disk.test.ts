import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { startDev } from "../../local/dev/dev.ts";
import { killLeftovers, startGsv } from "../cli/gsv-process.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";

afterEach(killLeftovers);

it("a gateway without room on the disk says so in one sentence, and goes on when there is room", async () => {
  const home = newFolder();
  // The kernel's limit of a file's size ends a process that does not ask for the error.
  const asks = { NODE_OPTIONS: "--import=data:text/javascript,process.on(%22SIGXFSZ%22,()=>{})" };
  const serving = startGsv(home, ["dev", "--serve", "--json"], asks);
  const { pid } = JSON.parse((await serving.prints(/\{.*"pid".*\}\n/))[0]);
  const limit = (bytes: string) => execFileSync("prlimit", [`--fsize=${bytes}:`, "--pid", String(pid)]);
  const say = async (text: string) => {
    const client = startGsv(home, ["client", text]);
    client.child.stdin.end();
    return { code: await client.ended, errors: client.stderr() };
  };
  expect(await say("one")).toMatchObject({ code: 0 });

  limit("1");
  const { code, errors } = await say("two");
  expect(code).toBe(1);
  expect(errors).toMatch(/^gsv: ws:\S+ the gateway answered HTTP 500; its terminal or log says why\n$/);
  const sentence = `cannot write ${join(home, ".gsv/table/log-1")}: the disk is full; accepted messages are kept and answered later\n`;
  await until(() => serving.stderr().includes(sentence), "it says so");
  expect(serving.stderr().split("the disk is full")).toHaveLength(2);

  limit("unlimited");
  expect(await say("three")).toMatchObject({ code: 0 });
  const preview = startGsv(home, ["session", "preview"]);
  await preview.ended;
  expect(preview.stdout()).toMatch(/one[\s\S]*three/);
}, 120_000);

it("a folder that cannot be used is refused in one sentence", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  await expect(startDev({ dir: join(file, "below") })).rejects.toThrow(
    `cannot use ${join(file, "below")}: part of its path is a file`,
  );
});
