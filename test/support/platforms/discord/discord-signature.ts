import { createPrivateKey, generateKeyPairSync, type KeyObject, sign as signBytes } from "node:crypto";
import type { SignedRequest } from "../platform-server.ts";

/** The public key is 32 bytes in hexadecimal. */
export function newKeys(): { publicKey: string; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  return { publicKey: Buffer.from(x, "base64url").toString("hex"), privateKey };
}

/** A private key of 32 bytes in hexadecimal, as RFC 8032 has them. */
export function ed25519Key(seed: string): KeyObject {
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  return createPrivateKey({
    key: Buffer.concat([prefix, Buffer.from(seed, "hex")]),
    format: "der",
    type: "pkcs8",
  });
}

export function signDiscord(key: KeyObject, body: string, timestamp: string): SignedRequest {
  return {
    method: "POST",
    path: "/discord/default",
    headers: {
      "content-type": "application/json",
      "x-signature-ed25519": signBytes(null, Buffer.from(timestamp + body), key).toString("hex"),
      "x-signature-timestamp": timestamp,
    },
    body,
  };
}
