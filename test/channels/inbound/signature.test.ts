import { describe, expect, it } from "vitest";
import { isDiscordSigned } from "../../../shared/channels/discord/discord.ts";
import { isEd25519Signed, isSameSecret } from "../../../shared/channels/signature.ts";
import { isSlackSigned } from "../../../shared/channels/slack/slack.ts";
import { isMetaSigned } from "../../../shared/channels/whatsapp/whatsapp.ts";
import { ed25519Key, signDiscord } from "../../support/platforms/discord/discord-signature.ts";

describe("a secret", () => {
  it("equals only itself, and an empty one equals nothing", () => {
    expect(isSameSecret("abc", "abc")).toBe(true);
    for (const [given, secret] of [
      ["abc", "abd"],
      ["abc", "abcd"],
      ["", ""],
      [undefined, undefined],
      [undefined, "abc"],
      ["abc", undefined],
    ])
      expect(isSameSecret(given, secret)).toBe(false);
  });
});

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
const slackExample = {
  secret: "8f742231b10e8888abcd99yyyzzz85a5",
  timestamp: "1531420618",
  body: [
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V",
    "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=",
    "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN",
    "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
  ].join(""),
  signature: "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
};

describe("the signature of Slack", () => {
  const { secret, timestamp, body, signature } = slackExample;
  const at = Number(timestamp) * 1000;
  const check = (over: Partial<typeof slackExample> = {}, now = at) => {
    const given = { ...slackExample, ...over };
    const headers = {
      "x-slack-signature": given.signature,
      "x-slack-request-timestamp": given.timestamp,
    };
    return isSlackSigned({ headers, body: Buffer.from(given.body) }, given.secret, now);
  };

  it("matches Slack's own example", () => {
    expect(check()).toBe(true);
    expect(check({ body: `${body} ` })).toBe(false);
    expect(check({ secret: secret.slice(1) })).toBe(false);
    expect(check({ secret: "" })).toBe(false);
    for (const other of [signature.toUpperCase(), signature.slice(3), `${signature}0`, "v0=", ""])
      expect(check({ signature: other })).toBe(false);
    for (const other of ["1531420619", "01531420618", "1531420618.0", "", "NaN", "-1531420618"])
      expect(check({ timestamp: other })).toBe(false);
  });

  it("is valid for five minutes, in both directions", () => {
    expect(check({}, at + 300_000)).toBe(true);
    expect(check({}, at + 301_000)).toBe(false);
    expect(check({}, at - 300_000)).toBe(true);
    expect(check({}, at - 301_000)).toBe(false);
  });
});

describe("the signature of Meta", () => {
  /** Published for the same header and the same scheme: https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
  const secret = "It's a Secret to Everybody";
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const check = (given: string | undefined, body = "Hello, World!", by: string | undefined = secret) =>
    isMetaSigned({ headers: { "x-hub-signature-256": given }, body: Buffer.from(body) }, by);

  it("is HMAC-SHA256 of the body with the app's secret", () => {
    expect(check(signature)).toBe(true);
    expect(check(signature, "Hello, World")).toBe(false);
    expect(check(signature, "Hello, World!", "another")).toBe(false);
    expect(check(signature, "Hello, World!", "")).toBe(false);
    for (const other of [undefined, "", signature.toUpperCase(), signature.slice(7), `${signature}0`])
      expect(check(other)).toBe(false);
  });
});

/** https://www.rfc-editor.org/rfc/rfc8032#section-7.1, tests 1 to 3: key, message and signature. */
const ed25519Examples = [
  [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  ],
  [
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  ],
  [
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "af82",
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  ],
] as const;

describe("the signature of Discord", () => {
  it("is Ed25519, with the examples of its standard", () => {
    for (const [key, message, signature] of ed25519Examples) {
      const bytes = Buffer.from(message, "hex");
      expect(isEd25519Signed(key, signature, bytes)).toBe(true);
      expect(isEd25519Signed(key.toUpperCase(), signature, bytes)).toBe(true);
      expect(isEd25519Signed(key, signature, Buffer.concat([bytes, Buffer.from("0")]))).toBe(false);
      for (const other of [
        signature.toUpperCase(),
        `${signature}00`,
        signature.slice(2),
        "",
        "0".repeat(128),
      ])
        expect(isEd25519Signed(key, other, bytes)).toBe(false);
    }
    const [[key, , signature], [otherKey]] = ed25519Examples;
    for (const other of [otherKey, key.slice(2), "", "not a key", "f".repeat(64)])
      expect(isEd25519Signed(other, signature, Buffer.alloc(0))).toBe(false);
  });

  it("covers the timestamp and the body", () => {
    const seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const { headers, body = "" } = signDiscord(ed25519Key(seed), '{"type":1}', "1780000000");
    const [[key]] = ed25519Examples;
    const check = (over: object, text = body, publicKey: unknown = key) =>
      isDiscordSigned(
        { headers: { ...headers, ...over }, body: Buffer.from(text) },
        publicKey,
        1780000000_000,
      );
    expect(check({})).toBe(true);
    expect(check({ "x-signature-timestamp": "1780000001" })).toBe(false);
    expect(check({ "x-signature-timestamp": undefined })).toBe(false);
    expect(check({ "x-signature-ed25519": undefined })).toBe(false);
    expect(check({}, '{"type":2}')).toBe(false);
    for (const publicKey of [null, "", 7, {}]) expect(check({}, body, publicKey)).toBe(false);
  });
});
