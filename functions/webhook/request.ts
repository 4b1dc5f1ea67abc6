import type { LambdaFunctionURLEvent } from "aws-lambda";
import type { ChannelAddress } from "../../shared/channels/channel.ts";

/** Max body size in bytes: WhatsApp sends batches of up to 3 MB, other platforms far less. */
const maxBodyBytes = 3 * 1024 * 1024;

/** The raw bytes of a request's body; undefined above `maxBodyBytes`. */
export function readBody({ body = "", isBase64Encoded }: LambdaFunctionURLEvent): Uint8Array | undefined {
  const encoding = isBase64Encoded ? "base64" : "utf8";
  return Buffer.byteLength(body, encoding) > maxBodyBytes ? undefined : Buffer.from(body, encoding);
}

/** Channel and account names follow the same pattern in the configuration. */
const path = /^\/([a-z0-9][a-z0-9_-]{0,63})(?:\/([a-z0-9][a-z0-9_-]{0,63}))?\/?$/;

/** `/{channel}/{accountId}`; the account is `default` when absent. Undefined for any other path. */
export function readAddress({
  rawPath,
}: Pick<LambdaFunctionURLEvent, "rawPath">): ChannelAddress | undefined {
  const [, channel, accountId = "default"] = path.exec(rawPath) ?? [];
  return channel === undefined ? undefined : { channel, accountId };
}
