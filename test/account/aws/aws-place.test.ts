import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sendJson, serveLoopback } from "../../../local/http/loopback.ts";
import { openSigned } from "../../../shared/aws/signed-request.ts";
import type { StageStack } from "../../../shared/aws/stage-stack.ts";
import { prices as published } from "../../bench/deployed/prices.ts";
import { type FakeAccount, startFakeAccount } from "../../cli/commands/setup/fake-account.ts";
import { openAwsPlace } from "./aws-place.ts";
import { countMetrics, metricsOf } from "./metrics.ts";
import { listPrices } from "./price-list.ts";
import { watchTimer } from "./watch-timer.ts";

const saved = { ...process.env };
let account: FakeAccount;
let closers: (() => Promise<void>)[] = [];
beforeEach(async () => {
  account = await startFakeAccount("wss://gateway.example/ws");
  closers = [account.close];
  Object.assign(process.env, {
    ...{ AWS_ENDPOINT_URL: account.url, AWS_REGION: "us-east-1", AWS_EC2_METADATA_DISABLED: "true" },
    ...{ AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" },
  });
});
afterEach(async () => {
  process.env = { ...saved };
  for (const close of closers) await close();
});

/** Answers calls by the operation of their header, their form, or their path. */
async function serve(
  answers: Record<string, (input: URLSearchParams & Record<string, unknown>) => object | string>,
) {
  const server = await serveLoopback(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const target = String(request.headers["x-amz-target"] ?? "").split(".")[1];
    const form = new URLSearchParams(body);
    const operation = target ?? form.get("Action") ?? request.url?.split("/").at(-2) ?? "";
    const result = answers[operation]?.(Object.assign(form, target ? JSON.parse(body) : {}));
    if (typeof result === "string") response.writeHead(200, { "content-type": "text/xml" }).end(result);
    else if (result) sendJson(response, 200, result);
    else sendJson(response, 400, { __type: "AccessDeniedException", message: operation });
  });
  closers.push(server.close);
  return server.origin;
}

const stack: StageStack = {
  ...{ id: "arn:aws:cloudformation:us-east-1:1:stack/gsv-trial/1", status: "CREATE_COMPLETE" },
  ...{ reason: undefined, outputs: new Map() },
  resources: [
    ["AWS::Lambda::Function", "gsv-trial-agent"],
    ["AWS::DynamoDB::GlobalTable", "T"],
    ["AWS::ApiGatewayV2::Api", "a1"],
    ["AWS::Scheduler::ScheduleGroup", "gsv-trial"],
    ["AWS::Logs::LogGroup", "/aws/lambda/gsv-trial-timer"],
    ["AWS::CloudWatch::Alarm", "gsv-trial-Trouble"],
  ].map(([type = "", name]) => ({ type, name, status: "CREATE_COMPLETE", reason: undefined })),
};

describe("an account", () => {
  it("names everything of a stage that exists, and deletes it", async () => {
    const place = await openAwsPlace("home", () => {});
    expect(await place.existing()).toEqual(
      expect.arrayContaining(["gsv-home", "T", "b", "/gsv/home/secrets/s1"]),
    );
    await place.destroy();
    expect(await place.existing()).toEqual([]);
    expect([...account.tables]).toEqual(["other-table"]);
    await place.destroy();
  });

  it("counts what CloudWatch has of each resource, over all pages, when it no longer changes", async () => {
    const asked: string[] = [];
    let reads = 0;
    const url = await serve({
      "gsv-trial-agent": () => ({ MemorySize: 512 }),
      GetMetricData(input) {
        if (input.get("NextToken") === null) reads++;
        const queries: Record<string, string> = {};
        for (const [key, value] of input) {
          const [, number = "", field = ""] = /^MetricDataQueries\.member\.(\d+)\.(.*)$/.exec(key) ?? [];
          if (/MetricName$|Value$/.test(field)) queries[number] = `${queries[number] ?? ""} ${value}`;
        }
        const [first = "", ...others] = Object.entries(queries).map(([number, name]) => {
          asked.push(name.trim());
          const values =
            reads === 1 ? "<Values/>" : `<Values><member>1000.0</member><member>24.0</member></Values>`;
          return `<member><Id>m${Number(number) - 1}</Id><Label>x</Label><Timestamps/>${values}</member>`;
        });
        const [shown, next] = input.get("NextToken")
          ? [others.join(""), ""]
          : [first, "<NextToken>2</NextToken>"];
        return `<GetMetricDataResponse><GetMetricDataResult>${next}<MetricDataResults>${shown}</MetricDataResults></GetMetricDataResult></GetMetricDataResponse>`;
      },
    });
    const send = openSigned(url);
    const metrics = await metricsOf(send, "us-east-1", stack);
    const { counts } = await countMetrics(send, "us-east-1", metrics, Date.now() - 60_000, 1);
    expect(counts).toEqual({
      lambdaInvocation: 1024,
      // Milliseconds, with half a gigabyte.
      lambdaGbSecond: 0.512,
      // The table and its two indexes.
      ...{ dynamodbWrite: 3072, dynamodbRead: 3072, webSocketMessage: 1024, schedulerInvocation: 1024 },
      logsGb: expect.closeTo(1.024e-6, 12),
    });
    expect(reads).toBe(3);
    expect(asked).toEqual(
      expect.arrayContaining(["Duration gsv-trial-agent", "ConsumedReadCapacityUnits T due"]),
    );
  });

  it("reads the sweeps of all pages, and the state of the alarm", async () => {
    const line = (overdue: number) => ({
      message: `{"event":"sweep.done","overdue":${overdue},"woken":0}\n`,
    });
    const url = await serve({
      FilterLogEvents: ({ logGroupName, nextToken }) =>
        logGroupName !== "/aws/lambda/gsv-trial-timer"
          ? {}
          : nextToken
            ? { events: [line(2)] }
            : { events: [line(0)], nextToken: "2" },
      DescribeAlarms: (input) =>
        `<DescribeAlarmsResponse><MetricAlarms><member><AlarmName>${input.get("AlarmNames.member.1")}</AlarmName><StateValue>OK</StateValue></member></MetricAlarms></DescribeAlarmsResponse>`,
    });
    expect(await watchTimer(openSigned(url), "us-east-1", stack, 0)).toEqual({
      overdue: [0, 2],
      alarms: ["OK"],
    });
  });

  it("uses the first paid tier of the price list, and published prices for what it does not have", async () => {
    const product = (usagetype: string, ...tiers: [string, string][]) => {
      const dimensions = tiers.map(([beginRange, USD], index) => [
        `sku.${index}`,
        { beginRange, pricePerUnit: { USD } },
      ]);
      const OnDemand = { term: { priceDimensions: Object.fromEntries(dimensions) } };
      return JSON.stringify({ product: { attributes: { usagetype } }, terms: { OnDemand } });
    };
    const url = await serve({
      GetProducts({ ServiceCode, NextToken }) {
        if (ServiceCode === "AWSLambda" && !NextToken)
          return {
            PriceList: [
              product("EU-Lambda-GB-Second-ARM", ["7500000000", "0.1"], ["100", "0.2"], ["0", "0.0"]),
            ],
            NextToken: "2",
          };
        if (ServiceCode === "AWSLambda") return { PriceList: [product("EU-Request-ARM", ["0", "0.3"])] };
        if (ServiceCode === "AmazonDynamoDB")
          return {
            PriceList: [
              product("EU-WriteRequestUnits", ["0", "0.4"]),
              product("IA-WriteRequestUnits", ["0", "9"]),
              ...["EU-ReadRequestUnits", "EU-ReadRequestUnits"].map((one) => product(one, ["0", "9"])),
            ],
          };
        return ServiceCode === "AmazonS3" ? (undefined as never) : { PriceList: [] };
      },
    });
    expect(await listPrices("eu-west-1", url)).toEqual({
      prices: { ...published, lambdaGbSecond: 0.2, lambdaInvocation: 0.3, dynamodbWrite: 0.4 },
      listed: ["lambdaGbSecond", "lambdaInvocation", "dynamodbWrite"],
    });
  });
});
