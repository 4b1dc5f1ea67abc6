import * as local from "../../local/cloud-names.ts";
import { accountId, arn, region } from "../../local/http/aws-account.ts";
import { deadLetterArn } from "../aws/emulators/function-environment.ts";
import type { TemplateJson } from "./synthesis.ts";

/** The values of a resource's `Ref` and `Fn::GetAtt`. */
type Names = Record<string, Record<string, string>>;

/**
 * The values that CloudFormation would insert for references if it had created the local cloud: local mode's names of the
 * table, bucket, API, role and queue.
 */
export function resourceNames(template: TemplateJson): Names {
  const names: Names = {
    AWS: {
      "AWS::Partition": "aws",
      "AWS::Region": region,
      "AWS::AccountId": accountId,
      "AWS::URLSuffix": "amazonaws.com",
    },
  };
  for (const [id, { Type, Properties }] of Object.entries(template.Resources)) {
    if (Type === "AWS::DynamoDB::GlobalTable") {
      names[id] = { Ref: local.tableName, Arn: arn("dynamodb", `table/${local.tableName}`) };
    }
    if (Type === "AWS::S3::Bucket")
      names[id] = { Ref: local.bucketName, Arn: `arn:aws:s3:::${local.bucketName}` };
    if (Type === "AWS::ApiGatewayV2::Api") {
      const isPage = String(Properties.Name).endsWith("-page");
      const name = isPage ? "page" : "programs";
      const isHttp = Properties.ProtocolType === "HTTP";
      names[id] = { Ref: isHttp ? name : local.webSocketApiId, ApiEndpoint: `https://${name}.example` };
    }
    if (Type === "AWS::IAM::Role" && JSON.stringify(Properties).includes("scheduler.amazonaws.com")) {
      names[id] = { Arn: local.scheduleRoleArn };
    }
    if (Type === "AWS::Logs::LogGroup") names[id] = { Ref: String(Properties.LogGroupName) };
    if (Type === "AWS::Scheduler::ScheduleGroup") names[id] = { Ref: local.scheduleGroup, Arn: id };
    if (Type === "AWS::SQS::Queue") names[id] = { Arn: deadLetterArn };
    if (Type === "AWS::Lambda::Url") {
      const isStream = Properties.InvokeMode === "RESPONSE_STREAM";
      names[id] = { FunctionUrl: `https://${isStream ? "openai" : "webhook"}.example/` };
    }
    if (Type === "AWS::Lambda::Function") {
      const name = String(Properties.FunctionName);
      names[id] = { Ref: name, Arn: arn("lambda", `function:${name}`) };
    }
  }
  return names;
}

/** A part of a template with its references replaced. @throws Error on a reference to something without a name */
export function resolve(value: unknown, names: Names): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(item, names));
  if (typeof value !== "object" || value === null) return value;
  const { Ref, "Fn::GetAtt": attribute, "Fn::Join": join } = value as Record<string, unknown>;
  if (typeof Ref === "string") return nameOf(names, Ref, "Ref");
  if (Array.isArray(attribute)) return nameOf(names, String(attribute[0]), String(attribute[1]));
  if (Array.isArray(join)) return (resolve(join[1], names) as string[]).join(String(join[0]));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item, names)]));
}

function nameOf(names: Names, id: string, attribute: string): string {
  const name = names[id]?.[attribute] ?? names.AWS?.[id];
  if (name === undefined)
    throw new Error(`the template refers to ${attribute} of ${id}, which has no local name`);
  return name;
}
