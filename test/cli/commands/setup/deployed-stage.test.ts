import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { updateConfigFile } from "../../../../cli/app/config-file.ts";
import { Context } from "../../../../cli/app/context.ts";
import { Failure } from "../../../../cli/app/failure.ts";
import type { Invocation } from "../../../../cli/app/options.ts";
import type { Run } from "../../../../cli/commands/setup/deploy-stage.ts";
import { showDeployment } from "../../../../cli/commands/setup/deploy-status.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { type FakeTerminal, fakeTerminal } from "../../fake-terminal.ts";
import { type FakeStage, startFakeStage } from "./fake-stage.ts";

let gateway: FakeGateway;
let stage: FakeStage;
let home: string;
let terminal: FakeTerminal;
let steps: string[][];
let cdkFails: boolean;
const saved = { ...process.env };
beforeEach(async () => {
  gateway = await startFakeGateway({});
  stage = await startFakeStage(gateway.url);
  home = newFolder();
  terminal = fakeTerminal({ HOME: home }, home, 400);
  [steps, cdkFails] = [[], false];
  await updateConfigFile(join(home, ".config/gsv/config.toml"), {
    gateway: { url: gateway.url, token: "good-token" },
    deploy: { stage: "home", logRetentionDays: "7" },
  });
  Object.assign(process.env, {
    ...{ AWS_ENDPOINT_URL: stage.url, AWS_REGION: "us-east-1", AWS_EC2_METADATA_DISABLED: "true" },
    ...{ AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" },
  });
});
afterEach(async () => {
  process.env = { ...saved };
  await stage.close();
  await gateway.close();
});

const cdk: Run = async (command, args) => {
  steps.push([command.split("/").pop() ?? "", ...args]);
  if (cdkFails) throw new Failure("deploy", "cdk failed");
};
type Act = (context: Context, invocation: Invocation, run: Run) => Promise<void>;
async function run(act: Act, options: Invocation["options"], flags = { json: true }): Promise<string> {
  const failed = await act(new Context(terminal, flags), { args: [], options }, cdk).then(
    () => "",
    (error: Error) => error.message,
  );
  return (
    failed ||
    (terminal
      .written()
      .split("\n")
      .findLast((line) => line.startsWith("{")) ??
      "")
  );
}
describe("gsv deploy status", () => {
  const status = (options: Invocation["options"] = {}) => run(showDeployment, options);

  it("shows the deployed stack, its version, and that nothing differs", async () => {
    const found = JSON.parse(await status());
    expect(found).toMatchObject({ stack: "gsv-home", deployed: true, version: "9.9.9", differs: false });
    expect(found.outputs).toEqual({
      WebSocketUrl: gateway.url,
      WebhookUrl: "https://hook/",
      TableName: "T",
      BucketName: "b",
    });
    expect(steps).toEqual([
      [
        ...["cdk", "diff", "gsv-home", "--fail", "-c", "stage=home", "-c", "logRetentionDays=7"],
        ...["-c", "concurrentExecutions=1000"],
      ],
    ]);
    expect(terminal.written()).not.toContain("good-token");
  });

  it("reports that a deployment would change something", async () => {
    cdkFails = true;
    expect(JSON.parse(await status())).toMatchObject({ differs: true });
  });

  it("compares nothing with --no-diff", async () => {
    expect(JSON.parse(await status({ diff: false }))).not.toHaveProperty("differs");
    expect(steps).toEqual([]);
  });

  it("says that a stage is not deployed", async () => {
    expect(JSON.parse(await status({ stage: "prod" }))).toEqual({
      stack: "gsv-prod",
      stage: "prod",
      deployed: false,
      findings: expect.arrayContaining([expect.objectContaining({ check: "stack", state: "ok" })]),
    });
  });

  it("shows the faults of the account", async () => {
    stage.account.stacks["gsv-home"] = { status: "UPDATE_ROLLBACK_FAILED" };
    const { deployed, findings } = JSON.parse(await status({ diff: false }));
    expect(deployed).toBe(true);
    expect(findings).toContainEqual({
      check: "stack",
      state: "fault",
      found: "gsv-home is UPDATE_ROLLBACK_FAILED",
      todo: "aws cloudformation continue-update-rollback --stack-name gsv-home --region us-east-1",
    });
  });

  it("reads nothing in another account than that of the last deployment", async () => {
    await updateConfigFile(join(home, ".config/gsv/config.toml"), { aws: { account: "999988887777" } });
    expect(JSON.parse(await status())).toMatchObject({ ok: false, stage: "home" });
    expect(terminal.written()).toContain("but gsv-home was deployed to 999988887777");
    expect(terminal.written()).not.toContain("BucketName");
  });
});
