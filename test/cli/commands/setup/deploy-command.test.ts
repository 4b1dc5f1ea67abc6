import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readConfigFile, updateConfigFile } from "../../../../cli/app/config-file.ts";
import { Context } from "../../../../cli/app/context.ts";
import type { Invocation } from "../../../../cli/app/options.ts";
import { deployStage } from "../../../../cli/commands/setup/deploy-command.ts";
import type { Run } from "../../../../cli/commands/setup/deploy-stage.ts";
import type { Endpoint } from "../../../../local/http/http-endpoint.ts";
import { sendJson, serveLoopback } from "../../../../local/http/loopback.ts";
import { createMemoryStore } from "../../../../local/items/item-store.ts";
import { openDynamoDBTable } from "../../../../shared/aws/dynamodb-table.ts";
import { openConfiguration } from "../../../../shared/configuration/store.ts";
import { createTokenVerifier, listTokens } from "../../../../shared/peers/tokens.ts";
import type { Events } from "../../../../shared/protocol/events.ts";
import { startDynamoDB } from "../../../aws/emulators/dynamodb/dynamodb.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { type AccountState, goodAccount, startFakeAccount } from "../doctor/preflight-services.ts";

const noSecrets = { get: async () => undefined, put: async () => undefined, delete: async () => undefined };
let dynamodb: Endpoint;
let gateway: FakeGateway;
let account: AccountState;
let aws: Awaited<ReturnType<typeof startFakeAccount>>;
const saved = { ...process.env };

beforeAll(async () => {
  dynamodb = await startDynamoDB({ store: createMemoryStore(), table: "gsv-test-table" });
});
afterAll(() => dynamodb.close());
beforeEach(async () => {
  gateway = await startFakeGateway({});
  account = goodAccount();
  aws = await startFakeAccount(account);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: aws.url,
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_REGION: "us-east-1",
    AWS_EC2_METADATA_DISABLED: "true",
  });
});
afterEach(async () => {
  process.env = { ...saved };
  await aws.close();
  await gateway.close();
});

/** Runs a deployment with a simulated stack, which returns its outputs. */
async function deploy(home: string, options: Invocation["options"] = { yes: true }) {
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
    const table = openDynamoDBTable("gsv-test-table");
    const holder = await createTokenVerifier(table, Date.now).verify(content.gateway?.token ?? "");
    expect(holder?.scopes).toEqual(["client", "approve"]);
    expect((await openConfiguration(table, noSecrets).load()).toolApproval.mode).toBe("guard");
    expect(run.stdout).toContain(gateway.url);
    expect(run.stdout + run.stderr).not.toContain(content.gateway?.token);
  });

  it("writes the agent's initial files", async () => {
    const home = newFolder();
    const token = { url: gateway.url, token: "good-token" };
    await updateConfigFile(join(home, ".config/gsv/config.toml"), { gateway: token });
    const run = await deploy(home);
    expect(run.error).toBeUndefined();
    expect(gateway.requests.map(({ method }) => method)).toContain("agent.init");
  });

  it("says what to do when the deployer may not use the table", async () => {
    const refusing = await serveLoopback(async (_request, response) =>
      sendJson(response, 400, {
        __type: "com.amazon.coral.service#AccessDeniedException",
        message: "not authorized",
      }),
    );
    process.env.AWS_ENDPOINT_URL_DYNAMODB = refusing.origin;
    const home = newFolder();
    const { error } = await deploy(home, { yes: true, stage: "home" });
    await refusing.close();
    expect(error?.message).toContain(
      "gsv-home is deployed, but these credentials may not create its first token; allow them dynamodb:Query, GetItem, UpdateItem and PutItem on the table gsv-test-table",
    );
    expect((await readConfigFile(join(home, ".config/gsv/config.toml"))).gateway).toBeUndefined();
  });

  it("does not change when the owner of a gateway with tokens is asked", async () => {
    const table = openDynamoDBTable("gsv-test-table");
    await openConfiguration(table, noSecrets).set("toolApproval", null);
    expect((await deploy(newFolder())).error).toBeUndefined();
    expect(await openConfiguration(table, noSecrets).isSet("toolApproval")).toBe(false);
  });

  it("keeps a token that the gateway still accepts", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, { gateway: { url: gateway.url, token: "good-token" } });
    const before = await listTokens(openDynamoDBTable("gsv-test-table"), Date.now());
    expect((await deploy(home)).error).toBeUndefined();
    expect(await listTokens(openDynamoDBTable("gsv-test-table"), Date.now())).toEqual(before);
    expect((await readConfigFile(file)).gateway?.token).toBe("good-token");
  });

  it.each([
    ["that the gateway refuses", "revoked", undefined],
    ["of an earlier version, which has admin rights", "good-token", ["client", "node", "admin"] as const],
  ])("replaces a token %s", async (_, token, scopes) => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, { gateway: { url: gateway.url, token } });
    if (scopes) gateway.scopes = [...scopes];
    expect((await deploy(home)).error).toBeUndefined();
    const made = (await readConfigFile(file)).gateway?.token ?? "";
    const holder = await createTokenVerifier(openDynamoDBTable("gsv-test-table"), Date.now).verify(made);
    expect(holder?.scopes).toEqual(["client", "approve"]);
  });

  it("passes saved settings to the CDK until they are removed", async () => {
    const home = newFolder();
    const contextOf = ({ steps }: { steps: string[][] }) =>
      steps[0]?.filter((_arg, index, args) => args[index - 1] === "-c");
    const given = ["alarmEmail=you+gsv=1@example.com", "logRetentionDays=7"];
    const limit = "concurrentExecutions=1000";
    const all = ["stage=dev", ...given, limit];
    expect(contextOf(await deploy(home, { yes: true, context: given }))).toEqual(all);
    expect(contextOf(await deploy(home))).toEqual(all);
    const changed = { yes: true, context: ["alarmEmail=", "logRetentionDays=14"] };
    expect(contextOf(await deploy(home, changed))).toEqual(["stage=dev", "logRetentionDays=14", limit]);
    expect(contextOf(await deploy(home))).toEqual(["stage=dev", "logRetentionDays=14", limit]);
  });

  it("tells the stack how many functions may run now, unless a setting does or it cannot be read", async () => {
    const home = newFolder();
    const limitOf = ({ steps }: { steps: string[][] }) =>
      steps[0]?.filter((arg) => arg.startsWith("concurrentExecutions="));
    account.executions = 10;
    expect(limitOf(await deploy(home))).toEqual(["concurrentExecutions=10"]);
    account.executions = 500;
    expect(limitOf(await deploy(home))).toEqual(["concurrentExecutions=500"]);
    const given = { yes: true, context: ["concurrentExecutions=20"] };
    expect(limitOf(await deploy(home, given))).toEqual(["concurrentExecutions=20"]);
    expect(limitOf(await deploy(home))).toEqual(["concurrentExecutions=20"]);
    account.refused = { "lambda:GetAccountSettings": { status: 403, code: "AccessDeniedException" } };
    expect(limitOf(await deploy(newFolder()))).toEqual([]);
  });

  it("refuses a config file of another stage before it does anything", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    expect((await deploy(home, { yes: true, stage: "home" })).error).toBeUndefined();
    const before = await readConfigFile(file);
    const run = await deploy(home, { yes: true, stage: "prod" });
    expect(run.error?.message).toMatch(/belongs to the stage home; run .*--config \S+\/gsv\/prod\.toml/);
    expect(run.steps).toEqual([]);
    expect(await readConfigFile(file)).toEqual(before);
    expect((await deploy(home)).steps[0]).toContain("stage=home");
  });

  it("does not overwrite a token that another gateway still accepts", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    const other = await startFakeGateway({});
    const theirs = { url: other.url, token: "good-token" };
    await updateConfigFile(file, { gateway: theirs, deploy: { stage: "dev" } });
    const run = await deploy(home);
    await other.close();
    expect(run.error?.message).toMatch(`contains the token of another gateway, ${other.url}; run `);
    expect((await readConfigFile(file)).gateway).toEqual(theirs);
  });

  it("replaces the token of a gateway that is gone", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, {
      gateway: { url: "wss://gone/ws", token: "old" },
      deploy: { stage: "dev" },
    });
    expect((await deploy(home)).error).toBeUndefined();
    expect((await readConfigFile(file)).gateway?.url).toBe(gateway.url);
  });

  it("reports missing AWS credentials before it does anything", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"])
      delete process.env[name];
    const home = newFolder();
    Object.assign(process.env, {
      AWS_SHARED_CREDENTIALS_FILE: join(home, "none"),
      AWS_CONFIG_FILE: join(home, "none"),
    });
    const run = await deploy(home);
    expect(run.error).toMatchObject({ kind: "preflight", exitCode: 1 });
    expect(run.stderr).toMatch(/no AWS credentials were found\n +→ aws login/);
    expect(run.steps).toEqual([]);
  });

  it("reports a missing region before it does anything", async () => {
    const home = newFolder();
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION"]) delete process.env[name];
    process.env.AWS_CONFIG_FILE = join(home, "none");
    const run = await deploy(home);
    expect(run.error).toMatchObject({ kind: "preflight", exitCode: 1 });
    expect(run.stderr).toMatch(/no AWS region is set\n +→ gsv deploy --region us-east-1/);
    expect(run.steps).toEqual([]);
  });

  it("stops at a fault of the account before it builds anything, unless it must not", async () => {
    account.bootstrap = undefined;
    account.executions = 10;
    const home = newFolder();
    const run = await deploy(home);
    expect(run.error).toMatchObject({ kind: "preflight", exitCode: 1 });
    expect(run.stderr).toMatch(/✗ bootstrap .*\n +→ npx cdk bootstrap aws:\/\/111122223333\/us-east-1\n/);
    expect(run.stdout).toMatch(/^1 of 7 checks failed; gsv-dev was not deployed/);
    expect(run.steps).toEqual([]);
    const forced = await deploy(home, { yes: true, preflight: false });
    expect(forced.error).toBeUndefined();
    expect(forced.steps).toHaveLength(1);
  });

  it("accepts the model's terms with --accept-model-terms, and deploys", async () => {
    account.model.agreementAvailability.status = "NOT_AVAILABLE";
    expect((await deploy(newFolder())).steps).toEqual([]);
    expect((await deploy(newFolder(), { yes: true, acceptModelTerms: true })).error).toBeUndefined();
    expect(account.accepted).toBe("anthropic.claude-sonnet-4-6 offer-1");
  });

  it("checks the model that the deployed gateway uses", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, {
      gateway: { url: gateway.url, token: "good-token" },
      deploy: { stage: "dev" },
    });
    gateway.methods["config.get"] = () => ({
      path: "model",
      value: { provider: "amazon-bedrock", id: "jp.x.y" },
    });
    expect((await deploy(home)).stderr).toContain(
      "the gateway is in us-east-1, where jp.x.y is not available",
    );
  });

  it("refuses an account that is not that of the last deployment", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, {
      ...{ gateway: { url: gateway.url, token: "good-token" }, deploy: { stage: "dev" } },
      aws: { account: "999988887777" },
    });
    const run = await deploy(home);
    expect(run.stderr).toContain("but gsv-dev was deployed to 999988887777");
    expect(run.steps).toEqual([]);
  });

  it("deploys to the remembered region from another terminal, and refuses another --region", async () => {
    const home = newFolder();
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, { gateway: { url: gateway.url, token: "good-token" } });
    expect((await deploy(home)).error).toBeUndefined();
    expect((await readConfigFile(file)).aws).toEqual({ account: "111122223333", region: "us-east-1" });
    process.env.AWS_REGION = "eu-west-3";
    const again = await deploy(home);
    expect(again.stderr).toContain(
      "region us-east-1, as in the last deployment (this terminal's is eu-west-3)",
    );
    expect(again.steps).toHaveLength(1);
    expect(process.env.AWS_REGION).toBe("us-east-1");
    const moved = await deploy(home, { yes: true, region: "eu-west-3" });
    expect(moved.stderr).toContain("gsv-dev was deployed to us-east-1, not eu-west-3");
    expect(moved.steps).toEqual([]);
  });

  const withToken = async () => {
    const home = newFolder();
    const token = { url: gateway.url, token: "good-token" };
    await updateConfigFile(join(home, ".config/gsv/config.toml"), { gateway: token });
    return home;
  };

  it("has the model answer once, and reports the time and the cost", async () => {
    gateway.methods["chat.send"] = ({ params: { sessionKey, runId }, emit }) => {
      const message = { role: "assistant" as const, content: [{ type: "text" as const, text: "ready" }] };
      const turn = {
        calls: 1,
        input: 5000,
        output: 4,
        cacheRead: 0,
        cacheWrite: 0,
        dollars: 0.0151,
        unpriced: 0,
      };
      emit("chat", { sessionKey, runId, state: "final", message, turn } as Events["chat"]);
      return { status: "started", runId };
    };
    const run = await deploy(await withToken());
    expect(run.error).toBeUndefined();
    expect(run.stderr).toMatch(/5\/5 the first answer\n {4}\d+\.\d s, 1 call, 5,000 in, 4 out, \$0\.0151\n/);
    const sent = gateway.requests.find(({ method }) => method === "chat.send");
    expect(sent?.params).toMatchObject({ sessionKey: "deployment" });
  });

  it("explains a failed answer as the chat does, and has deployed nevertheless", async () => {
    gateway.methods["chat.send"] = ({ params: { sessionKey, runId }, emit }) => {
      emit("chat", { sessionKey, runId, state: "error", error: "the key was refused" } as Events["chat"]);
      return { status: "started", runId };
    };
    const run = await deploy(await withToken());
    expect(run.error).toBeUndefined();
    expect(run.stderr).toContain("the model does not answer yet: the key was refused");
    expect(run.stdout).toContain("gsv-dev is deployed");
  });

  it("uses the region and the profile of its options", async () => {
    delete process.env.AWS_REGION;
    expect((await deploy(newFolder(), { yes: true, region: "eu-central-1" })).error).toBeUndefined();
    expect(process.env.AWS_REGION).toBe("eu-central-1");
  });

  it("uses the region of the older variable for both the CDK and the SDK", async () => {
    delete process.env.AWS_REGION;
    process.env.AWS_DEFAULT_REGION = "eu-west-3";
    process.env.AWS_CONFIG_FILE = join(newFolder(), "none");
    expect((await deploy(newFolder())).error).toBeUndefined();
    expect(process.env.AWS_REGION).toBe("eu-west-3");
  });

  it.each([
    [{ yes: true, context: ["alarmEmail"] }, /--context must be key=value/],
    [{ yes: true, stage: "Prod_1" }, /a stage has at most 20 characters/],
    [{}, /pass --yes/],
  ])("refuses %j", async (options, message) => {
    const run = await deploy(newFolder(), options);
    expect(run.error?.message).toMatch(message);
    expect(run.steps).toEqual([]);
  });
});
