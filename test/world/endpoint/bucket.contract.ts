import { randomUUID } from "node:crypto";
import { CreateBucketCommand, DeleteBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { openS3Bucket } from "../../../shared/aws/s3-bucket.ts";
import type { Bucket } from "../../../shared/world/world.ts";
import { describeBucket, describeBucketLimits } from "../bucket-contract.ts";

const given = process.env.CONTRACTS_BUCKET;

async function empty(bucket: Bucket): Promise<void> {
  const { objects } = await bucket.list("");
  for (const { key } of objects) await bucket.delete(key);
}

async function open() {
  if (given !== undefined) {
    const bucket = openS3Bucket(given);
    if ((await bucket.list("")).objects.length > 0) throw new Error(`the bucket ${given} is not empty`);
    return { bucket, close: () => empty(bucket) };
  }
  const Bucket = `gsv-contracts-${randomUUID()}`;
  const client = new S3Client();
  await client.send(new CreateBucketCommand({ Bucket }));
  const bucket = openS3Bucket(Bucket);
  const close = async () => {
    await empty(bucket);
    await client.send(new DeleteBucketCommand({ Bucket }));
    client.destroy();
  };
  return { bucket, close };
}

describeBucket("the bucket", open);
describeBucketLimits("the bucket within S3's limits", open);
