import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { deployStage, type Run } from "../../cli/commands/deploy.ts";
import { readConfigFile, updateConfigFile } from "../../cli/config-file.ts";
import { Context } from "../../cli/context.ts";
import { startDynamoDB } from "../../local/dynamodb.ts";
import type { Endpoint } from "../../local/http-endpoint.ts";
import { openTable } from "../../shared/aws/table.ts";
import { createTokenVerifier, listTokens } from "../../shared/tokens.ts";
import { type FakeGateway, startFakeGateway } from "./fake-gateway.ts";
import { newFolder } from "./run-gsv.ts";

let dynamodb: Endpoint;
let gateway: FakeGateway;
const saved = { ...process.env };

beforeAll(async () => {
  dynamodb = await startDynamoDB({ dir: newFolder(), table: "gsv-test-table" });
});
afterAll(() => dynamodb.close());
beforeEach(async () => {
  gateway = await startFakeGateway({});
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_REGION: "us-east-1",
    AWS_EC2_METADATA_DISABLED: "true",
  });
});
afterEach(async () => {
  process.env = { ...saved };
  await gateway.close();
});

/** Runs a deployment whose stack is played: the stack answers with its outputs. */
async function deploy(home: string, options: Record<string, string | boolean> = { yes: true }) {
  const steps: string[][] = [];
  const play: Run = async (command, args) => {
    steps.push([command.split("/").pop() ?? "", ...args]);
    const file = args[args.indexOf("--outputs-file") + 1];
    if (!args.includes("--outputs-file") || file === undefined) return;
    const outputs = { WebSocketUrl: gateway.url, WebhookUrl: "https://hook/", TableName: "gsv-test-table" };
    writeFileSync(file, JSON.stringify({ [args[1] ?? ""]: outputs }));
  };
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const context = new Context(
    { stdin: new PassThrough(), stdout, stderr, env: { HOME: home }, cwd: home },
    {},
  );
  const error = await deployStage(context, { args: [], options }, play).catch((thrown: Error) => thrown);
  return { steps, error, stdout: String(stdout.read() ?? ""), stderr: String(stderr.read() ?? "") };
}

describe("gsv deploy", () => {
  it("deploys the stage, creates a token, and saves url and token", async () => {
    const home = newFolder();
    const run = await deploy(home, { yes: true, stage: "home" });
    expect(run.error).toBeUndefined();
    expect(run.steps.map(([command, first]) => [command, first])).toEqual([["cdk", "deploy"]]);
    expect(run.steps[0]).toEqual(expect.arrayContaining(["gsv-home", "stage=home", "never"]));
    const content = await readConfigFile(join(home, ".config/gsv/config.toml"));
    expect(content.gateway?.url).toBe(gateway.url);
    const table = openTable("gsv-test-table");
    const holder = await createTokenVerifier(table).verify(content.gateway?.token ?? "");
    expect(holder?.scopes).toEqual(["client", "node", "channel", "admin"]);
    expect(run.stdout).toContain(gateway.url);
    expect(run.stdout + run.stderr).not.toContain(content.gateway?.token);
  });

  it("keeps the token that the gateway still takes", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, { gateway: { url: gateway.url, token: "good-token" } });
    const before = await listTokens(openTable("gsv-test-table"));
    expect((await deploy(home)).error).toBeUndefined();
    expect(await listTokens(openTable("gsv-test-table"))).toEqual(before);
    expect((await readConfigFile(file)).gateway?.token).toBe("good-token");
  });

  it("replaces a token that the gateway refuses", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, { gateway: { url: gateway.url, token: "revoked" } });
    expect((await deploy(home)).error).toBeUndefined();
    expect((await readConfigFile(file)).gateway?.token).toMatch(/^gsv_/);
  });

  it("says that there are no AWS credentials before it does anything", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"])
      delete process.env[name];
    const home = newFolder();
    Object.assign(process.env, {
      AWS_SHARED_CREDENTIALS_FILE: join(home, "none"),
      AWS_CONFIG_FILE: join(home, "none"),
    });
    const run = await deploy(home);
    expect(run.error?.message).toMatch(/^no AWS credentials were found; pass --profile/);
    expect(run.steps).toEqual([]);
  });

  it("says that no region is set before it does anything", async () => {
    const home = newFolder();
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION"]) delete process.env[name];
    process.env.AWS_CONFIG_FILE = join(home, "none");
    const run = await deploy(home);
    expect(run.error?.message).toMatch(/^no AWS region is set; pass --region/);
    expect(run.steps).toEqual([]);
  });

  it("uses the region and the profile it is told to", async () => {
    delete process.env.AWS_REGION;
    expect((await deploy(newFolder(), { yes: true, region: "eu-central-1" })).error).toBeUndefined();
    expect(process.env.AWS_REGION).toBe("eu-central-1");
  });

  it.each([
    [{ yes: true, stage: "Prod_1" }, /a stage is a short name/],
    [{}, /add --yes/],
  ])("refuses %j", async (options, message) => {
    const run = await deploy(newFolder(), options);
    expect(run.error?.message).toMatch(message);
    expect(run.steps).toEqual([]);
  });
});
