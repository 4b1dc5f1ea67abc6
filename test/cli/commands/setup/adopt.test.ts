import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Context } from "../../../../cli/app/context.ts";
import { chooseStores, finishAdoption } from "../../../../cli/commands/setup/deploy-adopt.ts";
import type { StageContext } from "../../../../cli/commands/setup/deploy-stage.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeTerminal, fakeTerminal } from "../../fake-terminal.ts";
import { addBucket, addStack, addTable, type FakeAccount, startFakeAccount } from "./fake-account.ts";

let account: FakeAccount;
let terminal: FakeTerminal;
const saved = { ...process.env };
const webSocketUrl = "wss://gateway.example/ws";

beforeEach(async () => {
  account = await startFakeAccount(webSocketUrl);
  terminal = fakeTerminal({}, newFolder(), 400);
  Object.assign(process.env, {
    ...{ AWS_ENDPOINT_URL: account.url, AWS_REGION: "us-east-1", AWS_EC2_METADATA_DISABLED: "true" },
    ...{ AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" },
  });
});
afterEach(async () => {
  process.env = { ...saved };
  await account.close();
});

const choose = (context: StageContext = { stage: "home" }, adopts = true) =>
  chooseStores(new Context(terminal, {}), context, adopts).catch((error: Error) => error.message);
const adopted = { stage: "home", tableName: "T", bucketName: "b" };

describe("gsv deploy --adopt", () => {
  it("uses the table and the bucket that a destroy kept", async () => {
    account.stacks.clear();
    expect(await choose()).toEqual(adopted);
    expect(terminal.written()).toContain("using the existing table T");
  });

  it("ignores tags of what no longer exists", async () => {
    account.stacks.clear();
    addTable(account, "deleted", "home");
    account.tables.delete("deleted");
    expect(await choose()).toEqual(adopted);
  });

  it("asks to choose between several, and then uses the chosen one", async () => {
    account.stacks.clear();
    addTable(account, "T2", "home");
    expect(await choose()).toBe("several tables were kept: T, T2; choose one with `-c tableName=NAME`");
    expect(await choose({ stage: "home", tableName: "T2" })).toEqual({ ...adopted, tableName: "T2" });
  });

  it("says that nothing was kept", async () => {
    const message = /^no table or bucket that gsv-home kept is in this account and region/;
    expect(await choose()).toMatch(message);
    expect(await choose({ stage: "empty" })).toMatch(/^no table or bucket that gsv-empty kept/);
  });

  it("uses kept data in a deployed stack that began with empty stores", async () => {
    addTable(account, "kept", "home");
    addBucket(account, "kept-bucket", "home");
    expect(await choose()).toEqual({ stage: "home", tableName: "kept", bucketName: "kept-bucket" });
  });
});

describe("gsv deploy without --adopt", () => {
  it("creates new stores, and says which kept ones it could use", async () => {
    account.stacks.clear();
    expect(await choose({ stage: "home" }, false)).toEqual({ stage: "home" });
    expect(terminal.written()).toContain(
      "`gsv deploy --stage home --adopt` would use what a destroy kept: table T, bucket b",
    );
  });

  it("continues to use the stores that the deployed stack has adopted, on any machine", async () => {
    account.stacks.delete("gsv-home");
    addStack(account, "home", { table: "T", bucket: "b", webSocketUrl });
    expect(await choose({ stage: "home" }, false)).toEqual(adopted);
    expect(await choose({ stage: "home", tableName: "", bucketName: "" }, false)).toEqual({
      ...{ stage: "home", tableName: "", bucketName: "" },
    });
  });

  it("deploys with credentials that may not look for kept data", async () => {
    account.fault = (operation) => (operation === "DescribeStacks" ? "before" : undefined);
    expect(await choose({ stage: "home" }, false)).toEqual({ stage: "home" });
    expect(await choose()).toBe("not authorized");
  });
});

it("an adopted table and bucket get the stage's tags, and the page's origin", async () => {
  addTable(account, "restored");
  addBucket(account, "copied");
  addStack(account, "home", { table: "restored", bucket: "copied", webSocketUrl });
  const context = { stage: "home", tableName: "restored", bucketName: "copied" };
  await finishAdoption(new Context(terminal, {}), context);
  const tags = { application: "gsv", stage: "home" };
  expect(account.tags.get("arn:aws:dynamodb:us-east-1:123456789012:table/restored")).toEqual(tags);
  expect(account.tags.get("arn:aws:s3:::copied")).toEqual(tags);
  expect([...account.cors]).toEqual([["copied", "https://page.example"]]);
});
