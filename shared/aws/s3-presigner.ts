import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { Presigner } from "../world/world.ts";

/**
 * Presigned URLs of the objects in a bucket. Endpoint, region and credentials come from the environment.
 * For an upload the length is signed, but not the body, which is not known yet.
 */
export function openS3Presigner(bucketName: string): Presigner {
  // By default the SDK signs a checksum of the body; here that would be the checksum of an empty body.
  const client = new S3Client({
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  const object = (key: string) => ({ Bucket: bucketName, Key: key });
  return {
    get: (key, seconds) => getSignedUrl(client, new GetObjectCommand(object(key)), { expiresIn: seconds }),
    put: (key, seconds, bytes) =>
      getSignedUrl(client, new PutObjectCommand({ ...object(key), ContentLength: bytes }), {
        expiresIn: seconds,
      }),
  };
}
