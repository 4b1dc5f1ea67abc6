import { Duration, RemovalPolicy, Validations } from "aws-cdk-lib";
import { AttributeType, Billing, type ITable, ProjectionType, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  HttpMethods,
  type IBucket,
  ObjectOwnership,
} from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";

export interface StorageProps {
  /** Existing ones, which are only used. */
  table?: ITable;
  bucket?: IBucket;
  /** For this number of days an overwritten or deleted object of a new bucket can be restored. */
  oldVersionDays: number;
  /** Of a new table and bucket. */
  removalPolicy?: RemovalPolicy;
}

/**
 * The table with all state and the bucket with all files. By default, both are kept when the stack is deleted, but not when its
 * creation is rolled back, because they are empty then.
 */
export class Storage extends Construct {
  readonly table: ITable;
  readonly bucket: IBucket;

  constructor(scope: Construct, id: string, props: StorageProps) {
    super(scope, id);
    const { removalPolicy = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE } = props;
    this.table = props.table ?? this.createTable(removalPolicy);
    this.bucket = props.bucket ?? this.createBucket(removalPolicy, props.oldVersionDays);
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

  private createTable(removalPolicy: RemovalPolicy): TableV2 {
    const table = new TableV2(this, "Table", {
      partitionKey: { name: "pk", type: AttributeType.STRING },
      sortKey: { name: "sk", type: AttributeType.STRING },
      billing: Billing.onDemand(),
      timeToLiveAttribute: "expiresAt",
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy,
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

  private createBucket(removalPolicy: RemovalPolicy, oldVersionDays: number): Bucket {
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
      removalPolicy,
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
