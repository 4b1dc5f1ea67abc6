import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { AnyPrincipal, Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Bucket, BucketPolicy, type IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { AgentGateway } from "./agent-gateway.ts";
import { OwnerNotices } from "./constructs/owner-notices.ts";
import { tagStage } from "./constructs/stage-tags.ts";
import type { Settings } from "./stage-settings.ts";

export interface GsvStackProps extends StackProps {
  settings: Settings;
  /** Folder with one bundle per function, the output of `npm run build`. */
  bundles: string;
}

/**
 * The gateway of one stage, and emails to its owner. The ids of the constructs keep the logical ids of earlier releases: a
 * resource with another one would be replaced. CDK leaves `Default` out of them.
 */
export class GsvStack extends Stack {
  constructor(scope: Construct, id: string, { settings, bundles, ...props }: GsvStackProps) {
    super(scope, id, props);
    tagStage(this, settings.stage);
    const { alarmEmail, tableName, bucketName } = settings;
    const gateway = new AgentGateway(this, "Default", {
      ...settings,
      bundles,
      namePrefix: `gsv-${settings.stage}`,
      table: tableName ? TableV2.fromTableName(this, "ExistingTable", tableName) : undefined,
      bucket: bucketName ? useBucket(new Construct(this, "Storage"), bucketName) : undefined,
      alarmTopic: alarmEmail
        ? new OwnerNotices(this, "Failures", { ...settings, alarmEmail }).topic
        : undefined,
    });
    for (const [name, value] of Object.entries(gateway.published)) new CfnOutput(this, name, { value });
  }
}

/** An existing bucket, with the policy of a gateway's own one: its former stack deleted that policy. */
function useBucket(scope: Construct, name: string): IBucket {
  const bucket = Bucket.fromBucketName(scope, "ExistingBucket", name);
  const policy = new BucketPolicy(scope, "ExistingBucketPolicy", { bucket });
  policy.document.addStatements(
    new PolicyStatement({
      effect: Effect.DENY,
      principals: [new AnyPrincipal()],
      actions: ["s3:*"],
      resources: [bucket.bucketArn, bucket.arnForObjects("*")],
      conditions: { Bool: { "aws:SecureTransport": "false" } },
    }),
  );
  return bucket;
}
