import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Finding, findingLines } from "../../../../cli/commands/doctor/finding.ts";
import { isFault, type Preflight, preflight } from "../../../../cli/commands/doctor/preflight.ts";
import { stackOutcomes } from "../../../../cli/commands/doctor/stack-checks.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type AccountState, goodAccount, startFakeAccount } from "./preflight-services.ts";

let state: AccountState;
let fake: Awaited<ReturnType<typeof startFakeAccount>>;
const saved = { ...process.env };
beforeEach(async () => {
  state = goodAccount();
  fake = await startFakeAccount(state);
  Object.assign(process.env, {
    ...{ AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret", AWS_EC2_METADATA_DISABLED: "true" },
  });
});
afterEach(async () => {
  process.env = { ...saved };
  await fake.close();
});

const model = { provider: "amazon-bedrock", id: "global.anthropic.claude-sonnet-4-6" };
const check = (input: Partial<Preflight> = {}) =>
  preflight({ region: "eu-central-1", model, stage: "dev", endpoint: fake.url, ...input });
/** The findings that are not ok, as `check: found -> command`. */
const bad = (found: readonly Finding[]) =>
  found.filter((one) => one.state !== "ok").map((one) => `${one.check}: ${one.found} -> ${one.todo}`);
const increase = (service: string, code: string, value: number) =>
  `aws service-quotas request-service-quota-increase --service-code ${service} --quota-code ${code} --desired-value ${value} --region eu-central-1`;

describe("the preflight of a good account", () => {
  it("finds nothing, and says what it found", async () => {
    expect(findingLines(await check())).toEqual([
      "✓ aws       account 111122223333, as arn:aws:iam::111122223333:user/deployer",
      "✓ region    eu-central-1",
      "✓ bootstrap version 28",
      "✓ stack     there is no gsv-dev in eu-central-1 yet",
      "✓ quota     1000 functions may run concurrently",
      "✓ model     this account may use global.anthropic.claude-sonnet-4-6 in eu-central-1",
      "✓ quota     Claude Sonnet 4.6: 5000000 tokens a minute in eu-central-1",
    ]);
    const regions = new Map(state.calls.map((call) => call.split(" ") as [string, string]));
    expect(regions.get("sts:GetCallerIdentity")).toBe("us-east-1");
    expect(regions.get("account:ListRegions")).toBe("us-east-1");
    expect(regions.get("bedrock:GetInferenceProfile")).toBe("eu-central-1");
  });

  it("does not ask Bedrock about a model of another provider", async () => {
    await check({ model: { provider: "anthropic", id: "claude-opus-4-8" } });
    expect(state.calls.filter((call) => /bedrock|quotas/.test(call))).toEqual([]);
  });

  it("reads the quota that counts for the id's geography", async () => {
    const us = { ...model, id: "us.anthropic.claude-sonnet-4-6" };
    const found = await check({ model: us, region: "us-east-1" });
    expect(findingLines(found).at(-1)).toContain("Claude Sonnet 4.6: 8000000 tokens");
  });
});

describe("the preflight of an account with a fault ends in one sentence with one command:", () => {
  const refuse = (call: string, status: number, code: string) => {
    state.refused[call] = { status, code };
  };
  const notAgreed = () => {
    state.model.agreementAvailability.status = "NOT_AVAILABLE";
    state.model.entitlementAvailability = "NOT_AVAILABLE";
  };

  it("no credentials", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"])
      delete process.env[name];
    const none = join(newFolder(), "none");
    Object.assign(process.env, { AWS_SHARED_CREDENTIALS_FILE: none, AWS_CONFIG_FILE: none });
    expect(bad(await check())).toEqual(["aws: no AWS credentials were found -> aws login"]);
    expect(state.calls).toEqual([]);
  });

  it.each([
    ["ExpiredToken", 403, "the AWS credentials have expired (ExpiredToken) -> aws sso login"],
    ["InvalidClientTokenId", 403, "AWS refuses these credentials (InvalidClientTokenId) -> aws configure"],
  ])("credentials that AWS refuses with %s", async (code, status, text) => {
    refuse("sts:GetCallerIdentity", status, code);
    expect(bad(await check())).toEqual([`aws: ${text}`]);
  });

  it("no network", async () => {
    await fake.close();
    const [found] = await check();
    expect(found).toMatchObject({ state: "fault", check: "aws", todo: expect.stringMatching(/^curl /) });
    expect(found?.found).toMatch(/^AWS cannot be reached: .*ECONNREFUSED/);
  });

  it("another account than that of the last deployment", async () => {
    expect(bad(await check({ last: { account: "999988887777" } }))).toEqual([
      "aws: these credentials belong to the account 111122223333, but gsv-dev was deployed to 999988887777 -> gsv deploy --stage dev --profile NAME",
    ]);
  });

  it.each([
    [
      "another region than that of the last deployment",
      { last: { region: "us-east-1" } },
      "gsv-dev was deployed to us-east-1, not eu-central-1 -> gsv deploy --stage dev --region us-east-1",
    ],
    ["no region", { region: undefined }, "no AWS region is set -> gsv deploy --region us-east-1"],
    [
      "GovCloud",
      { region: "us-gov-west-1" },
      "gsv does not run in us-gov-west-1 -> gsv deploy --region us-east-1",
    ],
    [
      "a region that does not exist",
      { region: "eu-centrall-1" },
      "AWS has no region eu-centrall-1 -> aws account list-regions --query 'Regions[].RegionName'",
    ],
    [
      "a region that is not enabled",
      { region: "ap-east-1" },
      "the region ap-east-1 is not enabled in this account -> aws account enable-region --region-name ap-east-1",
    ],
  ])("%s", async (_, input, text) => {
    expect(bad(await check(input))).toEqual([`region: ${text}`]);
  });

  it("a region without the model, for a new gateway and for a deployed one", async () => {
    state.profiles = [];
    const sentence = "model: Bedrock does not offer global.anthropic.claude-sonnet-4-6";
    expect(bad(await check())).toEqual([`${sentence} in eu-central-1 -> gsv deploy --region us-east-1`]);
    expect(bad(await check({ last: {} }))).toEqual([
      `${sentence}, the gateway's model, in eu-central-1 -> gsv config set model.id global.anthropic.claude-sonnet-4-6`,
    ]);
  });

  it("a model of another geography", async () => {
    expect(bad(await check({ model: { ...model, id: "us.anthropic.claude-sonnet-4-6" } }))).toEqual([
      "region: the gateway is in eu-central-1, where us.anthropic.claude-sonnet-4-6 is not available -> gsv config set model.id global.anthropic.claude-sonnet-4-6",
    ]);
  });

  it("terms that nobody has accepted, which --accept-model-terms accepts", async () => {
    notAgreed();
    expect(bad(await check())).toEqual([
      "model: nobody has accepted the terms of global.anthropic.claude-sonnet-4-6 in this account -> gsv deploy --accept-model-terms",
    ]);
    expect(state.accepted).toBeUndefined();
    expect(bad(await check({ acceptTerms: true }))).toEqual([]);
    expect(state.accepted).toBe("anthropic.claude-sonnet-4-6 offer-1");
  });

  it("terms that cannot be accepted", async () => {
    notAgreed();
    refuse("bedrock:CreateFoundationModelAgreement", 403, "AccessDeniedException");
    expect(bad(await check({ acceptTerms: true }))).toEqual([
      "model: the terms of global.anthropic.claude-sonnet-4-6 could not be accepted: not authorized to perform this -> gsv deploy --accept-model-terms --profile NAME",
    ]);
    state.offers = [];
    expect(bad(await check({ acceptTerms: true }))[0]).toContain("AWS offers none to this account");
  });

  it("Anthropic's form, before the terms", async () => {
    notAgreed();
    state.hasUseCase = false;
    expect(bad(await check({ acceptTerms: true }))).toEqual([
      "model: Anthropic requires its form about your use case before global.anthropic.claude-sonnet-4-6 answers -> aws bedrock put-use-case-for-model-access --form-data fileb://form.json --region eu-central-1",
    ]);
    expect(state.accepted).toBeUndefined();
  });

  it("an account that is not authorized to use the model, and terms that AWS still processes", async () => {
    state.model.agreementAvailability.status = "PENDING";
    expect(bad(await check())[0]).toMatch(/still processing .* -> gsv deploy status$/);
    state.model.authorizationStatus = "NOT_AUTHORIZED";
    expect(bad(await check())[0]).toMatch(
      /not authorized to use .* -> aws bedrock get-foundation-model-availability/,
    );
  });

  it("ten concurrent executions, which is a warning", async () => {
    state.executions = 10;
    const found = await check();
    expect(bad(found)).toEqual([
      `quota: only 10 functions may run concurrently, so at most 7 sessions are answered at a time -> ${increase("lambda", "L-B99A9384", 1000)}`,
    ]);
    expect(found.some(isFault)).toBe(false);
  });

  it.each([
    [0, "Claude Sonnet 4.6 may not be used in eu-central-1: its quota is 0 tokens a minute", "fault"],
    [20_000, "Claude Sonnet 4.6: only 20000 tokens a minute in eu-central-1", "warning"],
  ])("a quota of %d tokens a minute", async (tokens, sentence, kind) => {
    for (const quota of state.quotas) if (quota.QuotaCode === "L-2") quota.Value = tokens;
    const found = await check();
    expect(bad(found)).toEqual([`quota: ${sentence} -> ${increase("bedrock", "L-2", 1_000_000)}`]);
    expect(found.at(-1)?.state).toBe(kind);
  });

  it("no bootstrap, an old one, and one that failed", async () => {
    state.bootstrap = undefined;
    expect(bad(await check())).toEqual([
      "bootstrap: the CDK is not prepared in eu-central-1 -> npx cdk bootstrap aws://111122223333/eu-central-1",
    ]);
    state.stacks.CDKToolkit = { status: "ROLLBACK_COMPLETE" };
    expect(bad(await check())).toEqual([
      "bootstrap: the CDK's bootstrap stack is ROLLBACK_COMPLETE -> aws cloudformation delete-stack --stack-name CDKToolkit --region eu-central-1",
    ]);
    state.bootstrap = "5";
    expect(bad(await check())).toEqual([
      "bootstrap: the CDK's bootstrap stack has version 5; gsv needs 6 -> npx cdk bootstrap aws://111122223333/eu-central-1",
    ]);
  });

  it.each(Object.entries(stackOutcomes))("the stack in the status %s is %s", async (status, outcome) => {
    state.stacks["gsv-dev"] = { status, reason: "Resource creation cancelled" };
    const found = bad(await check());
    if (outcome === "stackOk" || outcome === "stackAbsent") return expect(found).toEqual([]);
    const [sentence, command] = found[0]?.split(" -> ") ?? [];
    expect(found).toHaveLength(1);
    expect(sentence).toMatch(
      new RegExp(`^stack: gsv-dev is ${status}( \\(Resource creation cancelled\\))?$`),
    );
    expect(command).toMatch(
      /^(aws cloudformation [a-z -]+-stack|gsv deploy destroy --stage|aws cloudformation [a-z -]+ )/,
    );
    if (status.endsWith("FAILED")) expect(sentence).toContain("cancelled");
    if (/^(CREATE|UPDATE|DELETE)_IN_PROGRESS$/.test(status))
      expect(command).toContain(`wait stack-${status.split("_")[0]?.toLowerCase()}-complete`);
  });

  it("a missing permission of any check, which is a warning", async () => {
    await check();
    const actions = [...new Set(state.calls.map((call) => call.split(" ")[0] ?? ""))].filter(
      (call) => call !== "sts:GetCallerIdentity",
    );
    expect(actions).toHaveLength(7);
    for (const action of actions) {
      state.refused = {
        [action]: { status: action.startsWith("ssm") ? 400 : 403, code: "AccessDeniedException" },
      };
      const found = await check();
      expect(found.some(isFault), action).toBe(false);
      expect(bad(found), action).toEqual([
        expect.stringMatching(
          new RegExp(
            `^aws: these credentials may not call ${action}, so .* was not checked -> gsv deploy status --profile NAME$`,
          ),
        ),
      ]);
    }
  });

  it("a service that fails, which is a warning after three attempts", async () => {
    refuse("lambda:GetAccountSettings", 503, "ServiceException");
    expect(bad(await check())[0]).toMatch(
      /^aws: the quota of functions was not checked: .* -> gsv deploy status$/,
    );
    expect(state.calls.filter((call) => call.startsWith("lambda"))).toHaveLength(3);
  });
});

describe("docs/deploy.md", () => {
  const page = readFileSync(new URL("../../../../docs/deploy.md", import.meta.url), "utf8");

  it("shows what a preflight finds in a bad account", async () => {
    state.bootstrap = undefined;
    state.executions = 10;
    state.model.agreementAvailability.status = "NOT_AVAILABLE";
    for (const quota of state.quotas) if (quota.QuotaCode === "L-2") quota.Value = 0;
    const shown = findingLines(await check()).map((line) => `    ${line}\n`);
    expect(page).toContain(`\n1/5 checking the AWS account\n${shown.join("")}3 of 7 checks failed`);
  });
});
