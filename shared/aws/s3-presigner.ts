import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { Presigner } from "../world/world.ts";

/**
 * Presigned URLs of the objects in a bucket. Endpoint, region and credentials come from the environment.
 * The body of an upload is not signed (it is not known yet), its length is.
 */
export function openS3Presigner(bucketName: string): Presigner {
  // By default the SDK signs the checksum of the body, and here that would be the checksum of no body at all.
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
