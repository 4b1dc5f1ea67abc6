import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";

/** Maximum difference of a signed timestamp from now, in seconds. An older request may be a replay. */
const maxSkewSeconds = 300;

/**
 * Whether a signed timestamp is at most five minutes away from now. False for anything but digits.
 * @param timestamp epoch seconds, as a header holds them
 * @param now epoch ms
 */
export function isRecent(timestamp: string, now: number): boolean {
  return /^\d{1,15}$/.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= maxSkewSeconds;
}

/**
 * Constant-time comparison that does not reveal the secret's length. False when the secret is undefined or
 * empty.
 */
export function isSameSecret(given: string | undefined, secret: string | undefined): boolean {
  if (!given || !secret) return false;
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** HMAC-SHA256 of the concatenated parts, in lower-case hexadecimal. */
export function hmacSha256(secret: string, ...parts: (string | Uint8Array)[]): string {
  const hmac = createHmac("sha256", secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest("hex");
}

/**
 * Verifies a message's Ed25519 signature (RFC 8032). False for a malformed key or signature; upper-case
 * hexadecimal counts as malformed.
 * @param publicKey 32 bytes in hexadecimal
 * @param signature 64 bytes in lower-case hexadecimal
 */
export function isEd25519Signed(publicKey: string, signature: string, message: Uint8Array): boolean {
  if (!/^[0-9a-f]{64}$/i.test(publicKey) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  const x = Buffer.from(publicKey, "hex").toString("base64url");
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, message, key, Buffer.from(signature, "hex"));
  } catch {
    return false;
  }
}
