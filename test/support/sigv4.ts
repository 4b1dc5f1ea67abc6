import { createHash, createHmac } from "node:crypto";

/**
 * Computes the signature of a presigned URL from the URL, as S3 does to verify it.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 * @param headers the signed headers besides `host`, by their names in lower case
 */
export function signatureOf(
  method: string,
  url: string,
  secretAccessKey: string,
  headers: Record<string, string> = {},
): string {
  const { host, pathname, searchParams } = new URL(url);
  const parameter = (name: string) => searchParams.get(name) ?? "";
  const [, ...scope] = parameter("X-Amz-Credential").split("/");
  const query = [...searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort();
  const signed = parameter("X-Amz-SignedHeaders");
  const values: Record<string, string> = { host, ...headers };
  const canonicalHeaders = signed.split(";").map((name) => `${name}:${values[name]}\n`);
  const request = [
    method,
    pathname,
    query.join("&"),
    canonicalHeaders.join(""),
    signed,
    "UNSIGNED-PAYLOAD",
  ].join("\n");
  const digest = createHash("sha256").update(request).digest("hex");
  const text = ["AWS4-HMAC-SHA256", parameter("X-Amz-Date"), scope.join("/"), digest].join("\n");
  const key = scope.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  return hmac(key, text).toString("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/** SigV4's percent-encoding: everything but letters, digits and `-_.~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
