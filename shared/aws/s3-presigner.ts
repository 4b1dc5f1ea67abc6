import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import type { Presigner } from "../world/world.ts";

/** A request as the SDK's middleware has it, before it is signed. */
interface Unsigned {
  method: string;
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
}

/** The part of the client's own signer that its type does not tell of. */
interface PresigningSigner {
  presign(request: Unsigned, options: { expiresIn: number }): Promise<Unsigned>;
}

/** Endpoint, region and credentials are those of the environment. */
export function openS3Presigner(bucketName: string): Presigner {
  const client = new S3Client({});
  const presign = async (method: "GET" | "PUT", key: string, seconds: number, bytes?: number) => {
    const target = await targetOf(client, bucketName, key);
    const host = target.port === undefined ? target.hostname : `${target.hostname}:${target.port}`;
    // Whoever uses the URL chooses the body, so that it cannot be signed; its length can.
    const headers: Record<string, string> = { host, "X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD" };
    if (bytes !== undefined) headers["content-length"] = String(bytes);
    const signer = await signerOf(client);
    const { query } = await signer.presign({ ...target, method, query: {}, headers }, { expiresIn: seconds });
    return `${target.protocol}//${host}${target.path}?${new URLSearchParams(query)}`;
  };
  return {
    get: (key, seconds) => presign("GET", key, seconds),
    put: (key, seconds, bytes) => presign("PUT", key, seconds, bytes),
  };
}

/** Where an object is, as the client itself finds it: nothing is sent. */
async function targetOf(client: S3Client, bucketName: string, key: string): Promise<Unsigned> {
  const command = new GetObjectCommand({ Bucket: bucketName, Key: key });
  let request: unknown;
  command.middlewareStack.add(
    () => async (args) => {
      request = args.request;
      return { output: { $metadata: {} }, response: undefined };
    },
    { step: "build", priority: "low", name: "keepRequestUnsent" },
  );
  await client.send(command);
  return request as Unsigned;
}

async function signerOf(client: S3Client): Promise<PresigningSigner> {
  const signer: object = await client.config.signer();
  if (!("presign" in signer)) throw new Error("this version of the S3 client cannot presign");
  return signer as PresigningSigner;
}
