import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";

/** Size of a part but the last, in bytes; S3 takes no less than 5 MiB and no more than 10,000 parts. */
const partBytes = 8 * 1024 * 1024;

/** An object to be written, without its body. The conditions are those of PutObject. */
export interface WriteRequest {
  Bucket: string;
  Key: string;
  ContentType?: string;
  Metadata: Record<string, string>;
  IfMatch?: string;
  IfNoneMatch?: string;
}

/**
 * Writes a body of any size, of which one part is in memory at a time: one that fits a part as a plain object, a larger
 * one as a multipart upload, which is aborted when anything fails. Returns the ETag. The stack's bucket clears away what
 * a crash leaves of an upload.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
 */
export async function uploadStream(
  client: S3Client,
  request: WriteRequest,
  body: AsyncIterable<Uint8Array>,
): Promise<string> {
  let upload: Upload | undefined;
  try {
    for await (const { bytes, isLast } of inParts(body)) {
      if (!upload && isLast) {
        return (await client.send(new PutObjectCommand({ ...request, Body: bytes }))).ETag ?? "";
      }
      upload ??= await beginUpload(client, request);
      await upload.add(bytes);
    }
    return (await upload?.complete()) ?? "";
  } catch (error) {
    await upload?.abort().catch(() => {});
    throw error;
  }
}

interface Upload {
  add(part: Uint8Array): Promise<void>;
  /** Returns the ETag. */
  complete(): Promise<string>;
  abort(): Promise<void>;
}

async function beginUpload(
  client: S3Client,
  { IfMatch, IfNoneMatch, ...request }: WriteRequest,
): Promise<Upload> {
  const { Bucket, Key } = request;
  // The algorithm is named when the upload is created: S3 refuses parts whose checksum it was not told of.
  const ChecksumAlgorithm = "CRC32";
  const create = new CreateMultipartUploadCommand({ ...request, ChecksumAlgorithm });
  const upload = { Bucket, Key, UploadId: (await client.send(create)).UploadId };
  const Parts: CompletedPart[] = [];
  return {
    async add(Body) {
      const PartNumber = Parts.length + 1;
      const command = new UploadPartCommand({ ...upload, PartNumber, Body, ChecksumAlgorithm });
      const { ETag, ChecksumCRC32 } = await client.send(command);
      Parts.push({ PartNumber, ETag, ChecksumCRC32 });
    },
    async complete() {
      const request = { ...upload, IfMatch, IfNoneMatch, MultipartUpload: { Parts } };
      return (await client.send(new CompleteMultipartUploadCommand(request))).ETag ?? "";
    },
    async abort() {
      await client.send(new AbortMultipartUploadCommand(upload));
    },
  };
}

/** The same bytes in pieces of the size of a part, and a last one that may be shorter, or empty when there are none. */
async function* inParts(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ bytes: Uint8Array; isLast: boolean }> {
  let part = Buffer.allocUnsafe(partBytes);
  let filled = 0;
  for await (const chunk of body) {
    let rest = chunk;
    while (rest.byteLength > 0) {
      if (filled === partBytes) {
        yield { bytes: part, isLast: false };
        part = Buffer.allocUnsafe(partBytes);
        filled = 0;
      }
      const taken = rest.subarray(0, partBytes - filled);
      part.set(taken, filled);
      filled += taken.byteLength;
      rest = rest.subarray(taken.byteLength);
    }
  }
  yield { bytes: part.subarray(0, filled), isLast: true };
}
