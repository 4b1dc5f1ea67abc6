import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type * as construct from "../../infra/agent-gateway.ts";
import { type Stack as RunningStack, startStack } from "../e2e/stack.ts";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { gatewayIn, literalVariables } from "./embedded-gateway.ts";
import {
  checkTypes,
  exampleTemplate,
  installConstruct,
  packConstruct,
  synthesizeApp,
} from "./packed-construct.ts";
import type { TemplateJson } from "./synthesis.ts";

/** A CDK app of somebody else, with the package. */
let folder: string;
/** Of the example, as CDK's command line gets it. */
let template: TemplateJson;
/** The example's app and stack in this process. */
let embedded: { app: App; stack: Stack };
let library: typeof construct;

beforeAll(async () => {
  folder = await installConstruct(await packConstruct());
  template = JSON.parse(await readFile(await exampleTemplate(folder), "utf8")) as TemplateJson;
  const require = createRequire(join(folder, "app.js"));
  embedded = require("./app.js");
  library = require("gsv-cdk");
});

const propertiesOf = (type: string, { Resources }: TemplateJson = template) =>
  Object.values(Resources).flatMap(({ Type, Properties }) => (Type === type ? [Properties] : []));

describe("an empty CDK app with the package", () => {
  it("synthesizes a gateway with ten lines of CommonJS", async () => {
    const lines = [
      'const { App, CfnOutput, Stack } = require("aws-cdk-lib");',
      'const { AgentGateway } = require("gsv-cdk");',
      'const stack = new Stack(new App(), "Mine");',
      'const gateway = new AgentGateway(stack, "Gateway");',
      'new CfnOutput(stack, "Address", { value: gateway.webSocketUrl });',
    ];
    await writeFile(join(folder, "mine.js"), lines.join("\n"));
    const out = await synthesizeApp(folder, "mine.js");
    const mine = JSON.parse(await readFile(join(out, "Mine.template.json"), "utf8")) as TemplateJson;
    expect(propertiesOf("AWS::Lambda::Function", mine)).toHaveLength(7);
    const { files } = JSON.parse(await readFile(join(out, "Mine.assets.json"), "utf8")) as {
      files: Record<string, { source: { path: string } }>;
    };
    const folders = Object.values(files).flatMap(({ source }) =>
      /^asset/.test(source.path) ? source.path : [],
    );
    expect(folders).toHaveLength(7);
    for (const one of folders)
      expect(await readFile(join(out, one, "handler.mjs"), "utf8")).toContain("handler");
  });

  it("has its types in TypeScript", async () => {
    const lines = [
      'import { App, Stack } from "aws-cdk-lib";',
      'import { AgentGateway } from "gsv-cdk";',
      'const stack = new Stack(new App(), "Mine");',
      'const { functions, table } = new AgentGateway(stack, "Gateway", { stage: "home" });',
      "export const names: string[] = [functions.agent.functionName, table.tableName];",
      "// @ts-expect-error: a stage is text",
      'new AgentGateway(stack, "Other", { stage: 5 });',
      "// @ts-expect-error: there is no such function",
      "functions.other;",
    ];
    await writeFile(join(folder, "mine.ts"), lines.join("\n"));
    await expect(checkTypes(folder, "mine.ts")).resolves.toBeUndefined();
  });

  it("has the licences of the bundled packages, and a package that nobody can publish by mistake", async () => {
    const installed = join(folder, "node_modules", "gsv-cdk");
    const licenses = await readFile(join(installed, "dist/licenses.txt"), "utf8");
    for (const name of ["gsv", "@anthropic-ai/sdk", "preact"])
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)`, "m"));
    const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../../package.json"), "utf8"));
    expect(manifest).toMatchObject({ private: true, version });
    expect(manifest.dependencies).toBeUndefined();
  });
});

describe("the example with two gateways in one stack", () => {
  it("has no fixed name, except of the agent and timer functions and the parameters", () => {
    for (const name of ["TableName", "BucketName", "LogGroupName", "QueueName", "TopicName", "RoleName"])
      expect(Object.values(template.Resources).filter(({ Properties }) => Properties?.[name])).toEqual([]);
    const names = propertiesOf("AWS::Lambda::Function").flatMap(({ FunctionName }) => FunctionName ?? []);
    expect(names).toEqual(
      ["Home-\\w+-timer", "Home-\\w+-agent", "Work-\\w+-timer", "Work-\\w+-agent"].map((name) =>
        expect.stringMatching(new RegExp(`^Assistants-${name}$`)),
      ),
    );
  });

  it("shares neither names nor parameters nor tags between them", () => {
    const [home, work] = ["Home", "Work"].map((id) => {
      const own = Object.entries(template.Resources).filter(([one]) => one.startsWith(id));
      const text = JSON.stringify(Object.fromEntries(own));
      const stages = [...text.matchAll(/"Key":"stage","Value":"(\w+)"/g)].map(([, stage]) => stage);
      expect(new Set(stages)).toEqual(new Set([id.toLowerCase()]));
      return own.flatMap(([, { Properties }]) => [Properties.Name, Properties.FunctionName]);
    });
    const fixed = (names: unknown[] = []) => names.filter((name) => typeof name === "string");
    expect(fixed(home).length).toBeGreaterThan(10);
    expect(fixed(home).filter((name) => work?.includes(name))).toEqual([]);
  });

  it("publishes the generated names of its log groups", () => {
    const [groups] = propertiesOf("AWS::SSM::Parameter").filter(
      ({ Name }) => Name === "/gsv/home/log-groups",
    );
    const { "Fn::Join": join } = groups!.Value as { "Fn::Join": [string, unknown[]] };
    const text = join[1].map((part) => (typeof part === "string" ? part : (part as { Ref: string }).Ref));
    expect(text.join("")).toMatch(/^socket=HomeSocketLog\w+,.*agent=HomeAgentLog\w+,.*page=HomePageLog\w+$/);
  });

  it("keeps the data of one, and deletes that of the other with the stack", () => {
    const policies = Object.entries(template.Resources).flatMap(([id, { Type, DeletionPolicy }]) =>
      /GlobalTable$|S3::Bucket$/.test(Type) ? [`${id.slice(0, 4)} ${DeletionPolicy}`] : [],
    );
    expect([...new Set(policies)].sort()).toEqual(["Home RetainExceptOnCreate", "Work Delete"]);
  });

  it("sends both alarms to the app's topic, which lets the account's alarms publish", () => {
    const [topic] = Object.keys(template.Resources).filter((id) => id.startsWith("Alarms"));
    expect(propertiesOf("AWS::CloudWatch::Alarm").map(({ AlarmActions }) => AlarmActions)).toEqual([
      [{ Ref: topic }],
      [{ Ref: topic }],
    ]);
    expect(JSON.stringify(propertiesOf("AWS::SNS::TopicPolicy"))).toContain("cloudwatch.amazonaws.com");
  });

  it("lets the app's role read the address and the token of one gateway, and nothing else", () => {
    const [policy] = propertiesOf("AWS::IAM::Policy");
    const { Statement } = policy!.PolicyDocument as { Statement: Record<string, unknown>[] };
    expect(Statement).toHaveLength(1);
    expect(Statement[0]).toMatchObject({ Action: "ssm:GetParameter", Effect: "Allow" });
    const paths = JSON.stringify(Statement[0]?.Resource).match(/parameter[^"]*/g);
    expect(paths).toEqual(["parameter/gsv/work/websocket-url", "parameter/gsv/work/secrets/connect"]);
  });

  it("passes cdk-nag's AWS Solutions rules", () => {
    const { violations } = new AwsSolutionsChecks(embedded.app).validateScope(embedded.app);
    expect(violations.map(({ ruleName, violatingResources }) => [ruleName, violatingResources])).toEqual([]);
  });

  it("would be refused if both had one stage", () => {
    const { app, stack } = embedded;
    const third = new library.AgentGateway(stack, "Third", { stage: "home" });
    expect(() => app.synth({ force: true })).toThrow("2 gateways have the stage home");
    stack.node.tryRemoveChild(third.node.id);
    expect(() => Template.fromStack(stack)).not.toThrow();
  });
});

describe("each gateway of the example, over the emulators with its own roles", () => {
  const gateways = { Home: "home", Work: "work" };
  let model: ModelServer;
  beforeAll(async () => {
    model = await startAnthropicServer();
  });
  afterAll(() => model?.close());

  it.each(Object.entries(gateways))("%s answers a turn", async (id, stage) => {
    const own = gatewayIn(template, id);
    const env = literalVariables(own);
    expect(env.SSM_PREFIX).toBe(`/gsv/${stage}`);
    const bundles = join(folder, "node_modules", "gsv-cdk", "dist", "functions");
    const stack: RunningStack = await startStack({ template: own, bundles, env });
    try {
      // One gateway has a model of its own; the other's owner sets one.
      const chosen = id === "Work" ? {} : { "model.provider": "anthropic", "model.id": "claude-opus-4-8" };
      await stack.configure({ ...chosen, "model.baseUrl": model.url, "apiKeys.anthropic": "sk-test" });
      model.queue({ text: `hello from ${stage}` });
      const client = await stack.client();
      const { runId } = await client.call("chat.send", { sessionKey: "agent:main:main", message: "hi" });
      const final = await client.ended(String(runId));
      await client.close();
      expect(final).toMatchObject({ state: "final" });
      expect(JSON.stringify(final.message)).toContain(`hello from ${stage}`);
      expect(stack.roles.refusals()).toEqual([]);
      expect(stack.roles.usedGrants().join("\n")).toContain(`parameter/gsv/${stage}/secrets`);
    } finally {
      await stack.close();
    }
  });
});
