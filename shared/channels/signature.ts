import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";

/**
 * Compares in a time that tells nothing about the secret, not even its length. Nothing is the same as no
 * secret.
 */
export function isSameSecret(given: string | undefined, secret: string | undefined): boolean {
  if (!given || !secret) return false;
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** HMAC-SHA256 over the parts one after the other, in lower-case hexadecimal. */
export function hmacSha256(secret: string, ...parts: (string | Uint8Array)[]): string {
  const hmac = createHmac("sha256", secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest("hex");
}

/**
 * Whether a signature is that of a message (Ed25519, RFC 8032). False for a key or a signature that is none,
 * and for hexadecimal in upper case: a signature has one spelling.
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
