import { Match, type Template } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { expirations } from "../../../local/cloud-names.ts";
import { resolve, resourceNames } from "../references.ts";
import { synthesizeTemplate, type TemplateJson, templateOf } from "../synthesis.ts";

/** Storage, entry points, and published values. */
export function stackCases(): void {
  let template: Template;
  let json: TemplateJson;

  beforeAll(() => {
    template = templateOf({ alarmEmail: "owner@example.com", logRetentionDays: "7" });
    json = template.toJSON() as TemplateJson;
  });

  const kept = { DeletionPolicy: "RetainExceptOnCreate", UpdateReplacePolicy: "Retain" };

  describe("storage", () => {
    test("the table is on demand, expires items, can be recovered, and is kept", () => {
      template.hasResource("AWS::DynamoDB::GlobalTable", {
        ...kept,
        Properties: {
          BillingMode: "PAY_PER_REQUEST",
          KeySchema: [
            { AttributeName: "pk", KeyType: "HASH" },
            { AttributeName: "sk", KeyType: "RANGE" },
          ],
          TimeToLiveSpecification: { AttributeName: "expiresAt", Enabled: true },
          Replicas: [
            Match.objectLike({ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }),
          ],
        },
      });
    });

    test("the table has the two sparse indexes", () => {
      template.hasResourceProperties("AWS::DynamoDB::GlobalTable", {
        AttributeDefinitions: Match.arrayWith([
          { AttributeName: "listPk", AttributeType: "S" },
          { AttributeName: "listSk", AttributeType: "N" },
          { AttributeName: "duePk", AttributeType: "S" },
          { AttributeName: "dueAt", AttributeType: "N" },
        ]),
        GlobalSecondaryIndexes: [
          {
            IndexName: "list",
            KeySchema: [
              { AttributeName: "listPk", KeyType: "HASH" },
              { AttributeName: "listSk", KeyType: "RANGE" },
            ],
            Projection: {
              ProjectionType: "INCLUDE",
              NonKeyAttributes: ["sessionKey", "createdAt", "lastActiveAt", "label"],
            },
          },
          {
            IndexName: "due",
            KeySchema: [
              { AttributeName: "duePk", KeyType: "HASH" },
              { AttributeName: "dueAt", KeyType: "RANGE" },
            ],
            Projection: { ProjectionType: "KEYS_ONLY" },
          },
        ],
      });
    });

    test("the bucket is private, encrypted, versioned, named by CloudFormation, and is kept", () => {
      template.hasResource("AWS::S3::Bucket", {
        ...kept,
        Properties: {
          BucketName: Match.absent(),
          BucketEncryption: {
            ServerSideEncryptionConfiguration: [
              { ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } },
            ],
          },
          OwnershipControls: { Rules: [{ ObjectOwnership: "BucketOwnerEnforced" }] },
          PublicAccessBlockConfiguration: {
            BlockPublicAcls: true,
            BlockPublicPolicy: true,
            IgnorePublicAcls: true,
            RestrictPublicBuckets: true,
          },
          VersioningConfiguration: { Status: "Enabled" },
        },
      });
    });

    test("old versions, delete markers, payloads and unfinished uploads are deleted", () => {
      template.hasResourceProperties("AWS::S3::Bucket", {
        LifecycleConfiguration: {
          Rules: [
            { Id: "old-versions", Status: "Enabled", NoncurrentVersionExpiration: { NoncurrentDays: 30 } },
            { Id: "deleted-objects", Status: "Enabled", ExpiredObjectDeleteMarker: true },
            {
              Id: "payloads",
              Status: "Enabled",
              Prefix: "payloads/",
              ExpirationInDays: 1,
              NoncurrentVersionExpiration: { NoncurrentDays: 1 },
            },
            {
              Id: "unfinished-uploads",
              Status: "Enabled",
              AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
            },
          ],
        },
      });
    });

    test("the local bucket removes what the lifecycle rules remove", () => {
      const [bucket] = Object.values(template.findResources("AWS::S3::Bucket"));
      const { Rules } = bucket!.Properties.LifecycleConfiguration as {
        Rules: { Prefix?: string; ExpirationInDays?: number }[];
      };
      const removing = Rules.filter((rule) => rule.ExpirationInDays !== undefined);
      expect(
        removing.map(({ Prefix, ExpirationInDays }) => ({ prefix: Prefix, days: ExpirationInDays })),
      ).toEqual(expirations);
    });

    test.each([
      ["AWS::S3::BucketPolicy", "s3:*"],
      ["AWS::SQS::QueuePolicy", "sqs:*"],
      ["AWS::SNS::TopicPolicy", "sns:Publish"],
    ])("%s refuses plain HTTP", (type, action) => {
      template.hasResourceProperties(type, {
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({
              Effect: "Deny",
              Action: action,
              Principal: Match.anyValue(),
              Condition: { Bool: { "aws:SecureTransport": "false" } },
            }),
          ]),
        },
      });
    });
  });

  describe("entry points", () => {
    test("the three routes of the WebSocket API lead to the socket function", () => {
      template.hasResourceProperties("AWS::ApiGatewayV2::Api", {
        Name: "gsv-local",
        ProtocolType: "WEBSOCKET",
      });
      const [api] = Object.keys(
        template.findResources("AWS::ApiGatewayV2::Api", { Properties: { ProtocolType: "WEBSOCKET" } }),
      );
      const ofApi = { Properties: { ApiId: { Ref: api } } };
      const routes = Object.values(template.findResources("AWS::ApiGatewayV2::Route", ofApi));
      const [integration = "", ...others] = Object.keys(
        template.findResources("AWS::ApiGatewayV2::Integration", ofApi),
      );
      expect(others).toEqual([]);
      expect(routes.map(({ Properties }) => [Properties.RouteKey, Properties.Target])).toEqual(
        ["$connect", "$disconnect", "$default"].map((key) => [
          key,
          { "Fn::Join": ["", ["integrations/", { Ref: integration }]] },
        ]),
      );
    });

    test("API Gateway may invoke the socket function for each of its routes, and the two others", () => {
      const names = resourceNames(json);
      const permissions = Object.values(
        template.findResources("AWS::Lambda::Permission", {
          Properties: { Principal: "apigateway.amazonaws.com" },
        }),
      );
      const allowed = (name: string, source: string) => ({
        Action: "lambda:InvokeFunction",
        FunctionName: `arn:aws:lambda:us-east-1:000000000000:function:gsv-local-${name}`,
        Principal: "apigateway.amazonaws.com",
        SourceArn: `arn:aws:execute-api:us-east-1:000000000000:${source}`,
      });
      expect(permissions.map(({ Properties }) => resolve(Properties, names))).toEqual([
        ...["$connect", "$disconnect", "$default"].map((key) => allowed("socket", `local/*${key}`)),
        allowed("page", "page/*/*"),
        allowed("mcp", "programs/*/*"),
      ]);
    });

    test("the API's stage is ws, and throttled", () => {
      template.hasResourceProperties("AWS::ApiGatewayV2::Stage", {
        StageName: "ws",
        AutoDeploy: true,
        DefaultRouteSettings: { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200 },
        RouteSettings: { $connect: { ThrottlingRateLimit: 10, ThrottlingBurstLimit: 20 } },
      });
    });

    test("browsers let the page, and no other one, use presigned URLs of the bucket", () => {
      const [api] = Object.keys(
        template.findResources("AWS::ApiGatewayV2::Api", { Properties: { ProtocolType: "HTTP" } }),
      );
      template.hasResourceProperties("AWS::S3::Bucket", {
        CorsConfiguration: {
          CorsRules: [
            {
              AllowedOrigins: [{ "Fn::GetAtt": [api, "ApiEndpoint"] }],
              AllowedMethods: ["GET", "PUT"],
              AllowedHeaders: ["content-type"],
            },
          ],
        },
      });
    });

    test("every request to the HTTP API leads to the page function, at most 20 a second", () => {
      const [api] = Object.keys(
        template.findResources("AWS::ApiGatewayV2::Api", { Properties: { ProtocolType: "HTTP" } }),
      );
      template.hasResourceProperties("AWS::ApiGatewayV2::Api", {
        Name: "gsv-local-page",
        ProtocolType: "HTTP",
      });
      const ofApi = { Properties: { ApiId: { Ref: api } } };
      const routes = Object.values(template.findResources("AWS::ApiGatewayV2::Route", ofApi));
      expect(routes.map(({ Properties }) => [Properties.RouteKey, Properties.AuthorizationType])).toEqual([
        ["$default", "NONE"],
      ]);
      template.hasResourceProperties("AWS::ApiGatewayV2::Stage", {
        ApiId: { Ref: api },
        StageName: "$default",
        AutoDeploy: true,
        DefaultRouteSettings: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 40 },
      });
    });

    test.each([
      ["webhook", "BUFFERED"],
      ["openai", "RESPONSE_STREAM"],
    ])("the function %s has a URL that anyone may call, and answers %s", (name, InvokeMode) => {
      const [[id] = []] = Object.entries(
        template.findResources("AWS::Lambda::Function", {
          Properties: { FunctionName: `gsv-local-${name}` },
        }),
      );
      const lambda = { "Fn::GetAtt": [id, "Arn"] };
      template.resourceCountIs("AWS::Lambda::Url", 2);
      template.hasResourceProperties("AWS::Lambda::Url", {
        AuthType: "NONE",
        TargetFunctionArn: lambda,
        InvokeMode: InvokeMode === "BUFFERED" ? Match.absent() : InvokeMode,
      });
      const open = template.findResources("AWS::Lambda::Permission", {
        Properties: { Principal: "*", FunctionName: lambda },
      });
      expect(Object.values(open).map(({ Properties }) => Properties)).toEqual([
        {
          Action: "lambda:InvokeFunctionUrl",
          FunctionName: lambda,
          FunctionUrlAuthType: "NONE",
          Principal: "*",
        },
        {
          Action: "lambda:InvokeFunction",
          FunctionName: lambda,
          InvokedViaFunctionUrl: true,
          Principal: "*",
        },
      ]);
    });
  });

  describe("published values", () => {
    const names = () => resourceNames(json);
    const published = {
      WebSocketUrl: ["websocket-url", "wss://local.execute-api.us-east-1.amazonaws.com/ws"],
      WebhookUrl: ["webhook-url", "https://webhook.example/"],
      OpenaiUrl: ["openai-url", "https://openai.example/v1"],
      McpUrl: ["mcp-url", "https://programs.example/mcp"],
      PageUrl: ["page-url", "https://page.example"],
      TableName: ["table-name", "gsv-local"],
      BucketName: ["bucket-name", "gsv-storage"],
    };

    test("the outputs are the URLs, the table and the bucket", () => {
      const outputs = Object.entries(json.Outputs).map(([name, { Value }]) => [
        name,
        resolve(Value, names()),
      ]);
      expect(Object.fromEntries(outputs)).toEqual(
        Object.fromEntries(Object.entries(published).map(([name, [, value]]) => [name, value])),
      );
    });

    test("the same values are parameters under the stage's prefix", () => {
      const parameters = Object.values(template.findResources("AWS::SSM::Parameter")).map(
        ({ Properties }) => [Properties.Name, resolve(Properties.Value, names())],
      );
      expect(Object.fromEntries(parameters)).toEqual(
        Object.fromEntries(Object.values(published).map(([name, value]) => [`/gsv/local/${name}`, value])),
      );
    });
  });

  test("two stages in one account have no name in common", () => {
    const namesIn = (stage: string) =>
      Object.values(synthesizeTemplate({ stage }).Resources)
        .flatMap(({ Properties }) => [Properties.Name, Properties.FunctionName, Properties.LogGroupName])
        .filter((name) => typeof name === "string" && name !== "sweep" && name !== "watch");
    const one = new Set(namesIn("one"));
    expect(one.size).toBeGreaterThan(10);
    expect(namesIn("two").filter((name) => one.has(name))).toEqual([]);
  });
}
