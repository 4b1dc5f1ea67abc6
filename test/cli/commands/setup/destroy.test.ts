import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfigFile, updateConfigFile } from "../../../../cli/app/config-file.ts";
import { Context } from "../../../../cli/app/context.ts";
import type { Invocation } from "../../../../cli/app/options.ts";
import { destroy } from "../../../../cli/commands/setup/deploy-destroy.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeTerminal, fakeTerminal } from "../../fake-terminal.ts";
import { addStack, addTable, type FakeAccount, startFakeAccount } from "./fake-account.ts";

let account: FakeAccount;
let home: string;
let file: string;
let terminal: FakeTerminal;
const saved = { ...process.env };
const webSocketUrl = "wss://gateway.example/ws";

beforeEach(async () => {
  home = newFolder();
  file = join(home, ".config/gsv/config.toml");
  await updateConfigFile(file, { deploy: { stage: "home", logRetentionDays: "7" } });
  await start(1);
  Object.assign(process.env, {
    ...{ AWS_REGION: "us-east-1", AWS_EC2_METADATA_DISABLED: "true" },
    ...{ AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" },
  });
});
afterEach(async () => {
  process.env = { ...saved };
  await account.close();
});

/** Starts an account with the stage `home`, and a terminal. */
async function start(seed: number): Promise<void> {
  await account?.close();
  account = await startFakeAccount(webSocketUrl, seed);
  process.env.AWS_ENDPOINT_URL = account.url;
  terminal = fakeTerminal({ HOME: home }, home, 400);
}

/** @returns the printed result, or the error's message */
async function run(options: Invocation["options"] = {}): Promise<Record<string, unknown> | string> {
  try {
    await destroy(new Context(terminal, { json: true }), { args: [], options });
  } catch (error) {
    return (error as Error).message;
  }
  const lines = terminal.written().split("\n");
  return JSON.parse(lines.findLast((line) => line.startsWith("{")) ?? "null");
}

const answer = async (question: string, text: string) => {
  await expect.poll(() => terminal.written()).toContain(question);
  terminal.type(`${text}\r`);
};

const secrets = Array.from({ length: 12 }, (_, index) => `/gsv/home/secrets/s${index + 1}`).sort();
const everything = { tables: ["T"], buckets: ["b"], secrets };

/** The remains of the stage, and of the other stage. */
const left = () => ({
  stacks: [...account.stacks.keys()],
  tables: [...account.tables].sort(),
  buckets: [...account.buckets].map(([name, versions]) => `${name}: ${versions.size}`),
  parameters: [...account.parameters.keys()].filter((name) => !name.startsWith("/gsv/other/")).sort(),
  others: account.parameters.has("/gsv/other/secrets/s1"),
});
const others = { tables: ["other-table"], buckets: ["other-bucket: 12"], others: true };
const nothing = { ...others, stacks: [], parameters: [] };
const keptData = {
  ...{ stacks: [], parameters: secrets, others: true },
  ...{ tables: ["T", "other-table"], buckets: ["b: 12", "other-bucket: 12"] },
};

describe("gsv deploy destroy", () => {
  it("prints every name, asks for the stage's name, and keeps the data", async () => {
    const done = run();
    await answer("Type the stage's name", "home");
    expect(await done).toEqual({ ok: true, stage: "home", kept: everything });
    const written = terminal.written();
    const names = ["gsv-home-agent", "gsv-home-page", "This data is kept", "T", "b", ...secrets];
    for (const name of names) expect(written.indexOf(name)).toBeGreaterThanOrEqual(0);
    expect(written.indexOf("gsv-home-agent")).toBeLessThan(written.indexOf("Type the stage's name"));
    expect(left()).toEqual(keptData);
  });

  it.each(["", "dev", "y"])("deletes nothing after the answer %j", async (typed) => {
    const before = left();
    const done = run({ deleteData: true });
    await answer("Type the stage's name", typed);
    expect(await done).toBe("nothing was deleted");
    expect(left()).toEqual(before);
  });

  it("asks again before it deletes data, and deletes nothing without that answer", async () => {
    const before = left();
    const done = run({ deleteData: true });
    await answer("Type the stage's name", "home");
    await answer("Type delete", "home");
    expect(await done).toBe("nothing was deleted");
    expect(left()).toEqual(before);
  });

  it("deletes stack, tables, all versions of all objects and secrets after both confirmations", async () => {
    const done = run({ deleteData: true });
    await answer("Type the stage's name", "home");
    await answer("Type delete", "delete");
    expect(await done).toEqual({ ok: true, stage: "home", deleted: everything });
    expect(left()).toEqual(nothing);
  });

  it("deletes nothing of a gateway that is part of another app's stack", async () => {
    account.stacks.delete("gsv-home");
    const before = left();
    expect(await run({ deleteData: true, yes: true })).toContain("part of another CDK app; delete it there");
    expect(left()).toEqual(before);
  });

  it("does not start without a terminal, except with --yes", async () => {
    Object.assign(terminal.stdin, { isTTY: false });
    expect(await run()).toContain("without a terminal, pass --yes");
    expect(account.calls).toEqual([]);
    expect(await run({ yes: true })).toMatchObject({ ok: true });
  });

  it.each([
    [
      "account",
      { account: "210987654321", region: "us-east-1" },
      /account 210987654321.*belong to 123456789012/,
    ],
    [
      "region",
      { account: "123456789012", region: "eu-west-1" },
      /to eu-west-1, not us-east-1.*omit --region/,
    ],
  ])("deletes nothing in another %s than that of the last deployment", async (_, aws, reason) => {
    await updateConfigFile(file, { aws });
    expect(await run({ yes: true, "delete-data": true, region: "us-east-1" })).toMatch(reason);
    expect(account.calls.filter((call) => /Delete|Tag/.test(call))).toEqual([]);
    expect(left().stacks).toEqual(["gsv-home"]);
  });

  it("says that there is nothing of a stage here", async () => {
    expect(await run({ stage: "prod", yes: true })).toBe(
      "there is no stack and no data of gsv-prod in the account 123456789012, region us-east-1; choose others with --profile and --region",
    );
  });

  it("deletes the data of a stack that was deleted by hand", async () => {
    account.stacks.clear();
    for (const name of [...account.parameters.keys()])
      if (/home\/[^/]+$/.test(name)) account.parameters.delete(name);
    expect(await run({ yes: true })).toEqual({ ok: true, stage: "home", kept: everything });
    expect(await run({ yes: true, deleteData: true })).toEqual({
      ...{ ok: true, stage: "home", deleted: everything },
    });
    expect(left()).toEqual(nothing);
  });

  it("names the resource that CloudFormation could not delete, and deletes no data then", async () => {
    const stack = account.stacks.get("gsv-home");
    if (!stack) throw new Error("no stack");
    stack.undeletable = { name: "gsv-home-agent", reason: "it is in use" };
    expect(await run({ yes: true, deleteData: true })).toBe(
      "the stack gsv-home was not deleted (AWS::Lambda::Function gsv-home-agent: it is in use); run `gsv deploy destroy --stage home --delete-data` again, which continues",
    );
    expect(left()).toMatchObject({
      tables: ["T", "other-table"],
      parameters: expect.arrayContaining(secrets),
    });
    stack.undeletable = undefined;
    expect(await run({ yes: true, deleteData: true })).toMatchObject({ ok: true });
    expect(left()).toEqual(nothing);
  });

  it("finds a restored table without tags, even after the stack is gone", async () => {
    addTable(account, "restored");
    account.stacks.delete("gsv-home");
    addStack(account, "home", { table: "restored", bucket: "b", webSocketUrl });
    account.fault = (operation) => (operation === "DeleteTable" ? "before" : undefined);
    expect(await run({ yes: true, deleteData: true })).toMatch(/^not all data of gsv-home was deleted/);
    account.fault = undefined;
    expect(await run({ yes: true, deleteData: true })).toMatchObject({
      deleted: { tables: ["T", "restored"] },
    });
    expect(left()).toEqual(nothing);
  });

  it("forgets the place and the adopted stores of a stage that is gone", async () => {
    await updateConfigFile(file, {
      aws: { account: "123456789012", region: "us-east-1" },
      deploy: { tableName: "T", bucketName: "b" },
    });
    expect(await run({ yes: true })).toMatchObject({ ok: true });
    expect((await readConfigFile(file)).deploy).toMatchObject({ tableName: "T" });
    expect(await run({ yes: true, deleteData: true })).toMatchObject({ ok: true });
    const { aws, deploy } = await readConfigFile(file);
    expect(aws).toEqual({ account: "", region: "" });
    expect(deploy).toEqual({ stage: "home", logRetentionDays: "7", tableName: "", bucketName: "" });
  });
});

describe.each([
  { options: { yes: true, deleteData: true }, result: nothing, word: "nothing is left" },
  { options: { yes: true }, result: keptData, word: "only the data is left" },
])("a destroy that failed at any call and is repeated, with $options", ({ options, result, word }) => {
  it.each([
    { when: "before", of: /./, min: options.deleteData ? 10 : 6 },
    { when: "after", of: /^Delete|^Tag/, min: options.deleteData ? 6 : 1 },
  ] as const)(
    `${word}: a call failed $when its effect`,
    async ({ when, of, min }) => {
      const isDone = /^there is no stack and no data of gsv-home/;
      let failed = 0;
      for (let failing = 1; failing < 100; failing++) {
        await start(failing);
        let calls = 0;
        account.fault = (operation) => (of.test(operation) && ++calls === failing ? when : undefined);
        const first = await run(options);
        if (calls < failing) break;
        if (typeof first === "string") failed++;
        account.fault = undefined;
        const second = await run(options);
        if (typeof second === "string") expect(second).toMatch(isDone);
        expect({ failing, ...left() }).toEqual({ failing, ...result });
      }
      expect(failed).toBeGreaterThanOrEqual(min);
    },
    120_000,
  );
});

it("deletes the same with pages of every size and order", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    await start(seed);
    expect(await run({ yes: true, deleteData: true })).toMatchObject({ deleted: everything });
    expect(left()).toEqual(nothing);
  }
}, 60_000);
