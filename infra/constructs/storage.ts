import { Duration, RemovalPolicy, Validations } from "aws-cdk-lib";
import { AttributeType, Billing, type ITable, ProjectionType, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { AnyPrincipal, Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  BucketPolicy,
  HttpMethods,
  type IBucket,
  ObjectOwnership,
} from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import type { Settings } from "../stage-settings.ts";

/**
 * The table with all state and the bucket with all files. Both are kept when the stack is deleted, but not when its creation
 * is rolled back, because they are empty then. If the stage names an existing table or bucket, the stack only uses it.
 */
export class Storage extends Construct {
  readonly table: ITable;
  readonly bucket: IBucket;

  constructor(
    scope: Construct,
    id: string,
    props: Pick<Settings, "oldVersionDays" | "tableName" | "bucketName">,
  ) {
    super(scope, id);
    this.table = props.tableName
      ? TableV2.fromTableName(this, "ExistingTable", props.tableName)
      : this.createTable();
    this.bucket = props.bucketName
      ? this.useBucket(props.bucketName)
      : this.createBucket(props.oldVersionDays);
  }

  /**
   * Lets a web page use presigned URLs: upload attachments, and read files and large answers. For an existing bucket `gsv deploy`
   * does the same (`allowPage` in `shared/aws`), because a stack cannot change it.
   */
  allowPage(origin: string): void {
    if (!(this.bucket instanceof Bucket)) return;
    const allowedMethods = [HttpMethods.GET, HttpMethods.PUT];
    this.bucket.addCorsRule({ allowedOrigins: [origin], allowedMethods, allowedHeaders: ["content-type"] });
  }

  /** An existing bucket, with the policy of the stack's own one: its former stack deleted that policy. */
  private useBucket(name: string): IBucket {
    const bucket = Bucket.fromBucketName(this, "ExistingBucket", name);
    const policy = new BucketPolicy(this, "ExistingBucketPolicy", { bucket });
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

  private createTable(): TableV2 {
    const table = new TableV2(this, "Table", {
      partitionKey: { name: "pk", type: AttributeType.STRING },
      sortKey: { name: "sk", type: AttributeType.STRING },
      billing: Billing.onDemand(),
      timeToLiveAttribute: "expiresAt",
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    table.addGlobalSecondaryIndex({
      indexName: "list",
      partitionKey: { name: "listPk", type: AttributeType.STRING },
      sortKey: { name: "listSk", type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ["sessionKey", "createdAt", "lastActiveAt", "label"],
    });
    table.addGlobalSecondaryIndex({
      indexName: "due",
      partitionKey: { name: "duePk", type: AttributeType.STRING },
      sortKey: { name: "dueAt", type: AttributeType.NUMBER },
      projectionType: ProjectionType.KEYS_ONLY,
    });
    return table;
  }

  private createBucket(oldVersionDays: number): Bucket {
    const bucket = new Bucket(this, "Bucket", {
      encryption: BucketEncryption.S3_MANAGED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      enforceSSL: true,
      versioned: true,
      lifecycleRules: [
        { id: "old-versions", noncurrentVersionExpiration: Duration.days(oldVersionDays) },
        { id: "deleted-objects", expiredObjectDeleteMarker: true },
        // Payloads in transfer, and their old versions, are deleted after one day.
        {
          id: "payloads",
          prefix: "payloads/",
          expiration: Duration.days(1),
          noncurrentVersionExpiration: Duration.days(1),
        },
        { id: "unfinished-uploads", abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    Validations.of(bucket).acknowledge({
      id: "AwsSolutions-S1",
      reason:
        "Only the roles of this stack can reach it, and each function logs what it does; access logs would need a " +
        "second bucket and outgrow the data. CloudTrail data events can be switched on when they are needed.",
    });
    return bucket;
  }
}
