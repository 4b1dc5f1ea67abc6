import { createMemoryBucket } from "../support/memory-bucket.ts";
import { describeBucket, describeBucketLimits } from "./bucket-contract.ts";
import { worlds } from "./worlds.ts";

for (const [name, open] of worlds) {
  const openBucket = async () => {
    const { world, objects, close } = await open();
    return { bucket: world.bucket, behind: objects, close };
  };
  describeBucket(`the bucket of ${name}`, openBucket);
  describeBucketLimits(`the bucket of ${name}, within S3's limits`, openBucket);
}
describeBucket("the bucket in memory", async () => ({
  bucket: createMemoryBucket(),
  close: async () => {},
}));
