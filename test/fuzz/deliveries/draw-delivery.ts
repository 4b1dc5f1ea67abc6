import { gzipSync } from "node:zlib";
import { drawFor } from "../../chaos/draw.ts";
import { directCommand, guildCommand } from "../../support/platforms/discord/discord-interactions.ts";
import type { SignedRequest } from "../../support/platforms/platform-server.ts";
import { appMention, directMessage } from "../../support/platforms/slack/slack-events.ts";
import {
  documentUpdate,
  groupUpdate,
  textUpdate,
} from "../../support/platforms/telegram/telegram-updates.ts";
import { notify, whatsappMessage } from "../../support/platforms/whatsapp/whatsapp-notifications.ts";
import { challengeRequest } from "../../support/platforms/whatsapp/whatsapp-server.ts";
import type { Random } from "../../support/random.ts";
import { changed } from "../draw/change.ts";
import { hostileValue, writeJson } from "../draw/hostile.ts";
import type { Facts } from "../target/settle-in.ts";
import { signers } from "./platform-keys.ts";

/**
 * signed: a changed body with a valid signature. forged: a wrong signature, secret or time. replay: a valid request
 * twice. huge: up to and above the size limit. truncated: the connection ends within the body. gzip: a compressed body.
 * path: another method or path. All except `signed`, `replay` and a signed `gzip` must be refused.
 */
export const deliveryKinds = ["signed", "forged", "replay", "huge", "truncated", "gzip", "path"] as const;
export type DeliveryKind = (typeof deliveryKinds)[number];

/** A request as it goes over the wire. */
export type RawRequest = Omit<SignedRequest, "body"> & { body: Buffer };

/** One attack by a delivery. */
export interface DeliveryCase {
  index: number;
  platform: string;
  kind: DeliveryKind;
  request: RawRequest;
  /** Whether the request is signed with the platform's secret. Any other must be refused and must store nothing. */
  isSigned: boolean;
}

/** Part of every body without a valid signature. The data folder must not contain it afterwards. */
export const forgedMark = "forged-mark-7d20";

/** The delivery with this number, at a time in epoch seconds. */
export function drawDelivery(seed: number, index: number, facts: Facts, at: number): DeliveryCase {
  const draw = drawFor(seed, "delivery", index);
  const platform = draw.pick(Object.keys(signers));
  const kind = draw.pick([...deliveryKinds, "signed", "signed", "signed", "forged"] as const);
  const sign = signers[platform] as (typeof signers)[string];
  const event = eventOf(
    platform,
    draw,
    kind === "signed" || kind === "replay" ? `words ${index}` : forgedMark,
    index,
  );
  const body = writeJson(kind === "signed" ? changed(event, draw, facts.names) : event);
  const { request, isSigned } = built[kind](sign(body, at), draw, { sign, body, at, platform });
  return { index, platform, kind, request, isSigned };
}

interface Signing {
  sign: (body: string, at: number, key?: string) => SignedRequest;
  body: string;
  at: number;
  platform: string;
}

type Built = Pick<DeliveryCase, "request" | "isSigned">;

const raw = (request: SignedRequest): RawRequest => ({ ...request, body: Buffer.from(request.body ?? "") });

const built: Record<DeliveryKind, (valid: SignedRequest, random: Random, signing: Signing) => Built> = {
  signed: (valid) => ({ request: raw(valid), isSigned: true }),
  replay: (valid) => ({ request: raw(valid), isSigned: true }),
  forged: (valid, random, signing) => ({ request: raw(forged(valid, random, signing)), isSigned: false }),
  huge(_valid, random, { sign, at }) {
    const bytes = random.pick([1_000_000, 3 * 1024 * 1024 - 200, 3 * 1024 * 1024 + 1, 6 * 1024 * 1024 + 1]);
    const body = random.pick([`{"text":"${"x".repeat(bytes)}"}`, " ".repeat(bytes), "[".repeat(bytes)]);
    return { request: raw(sign(body, at, "a-wrong-secret")), isSigned: false };
  },
  truncated: (valid) => ({ request: raw(valid), isSigned: false }),
  gzip(valid, random, { sign, at, body, platform }) {
    const zipped = gzipSync(body);
    const headers = { ...valid.headers, "content-encoding": "gzip" };
    // The text is signed but sent compressed, so the raw bytes differ. Telegram signs no bytes.
    if (random.integer(2) === 0)
      return { request: { ...valid, headers, body: zipped }, isSigned: platform === "telegram" };
    const { headers: own } = sign(body, at, "a-wrong-secret");
    return {
      request: { ...valid, headers: { ...own, "content-encoding": "gzip" }, body: zipped },
      isSigned: false,
    };
  },
  path(valid, random) {
    const { pathname } = new URL(valid.path, "http://localhost");
    const path = random.pick([
      ...[
        "/",
        "//",
        "/nobody/default",
        "/constructor/default",
        "/__proto__",
        "/telegram/%2e%2e/slack",
        "/%00",
        "/%ff",
      ],
      ...[`${pathname}/more`, `${pathname}x`, pathname.toUpperCase(), `/x${pathname}`, "/..;/telegram"],
    ]);
    const isMethod = random.integer(2) === 0;
    const method = isMethod ? random.pick(["PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) : valid.method;
    return { request: raw({ ...valid, method, path: isMethod ? valid.path : path }), isSigned: false };
  },
};

function forged(valid: SignedRequest, random: Random, { sign, body, at, platform }: Signing): SignedRequest {
  const names = Object.keys(valid.headers).filter((name) => name !== "content-type");
  const name = random.pick(names);
  const without = Object.fromEntries(Object.entries(valid.headers).filter(([one]) => one !== name));
  const choices = [
    () => sign(body, at, "a-wrong-secret"),
    () => sign(body, at, ""),
    () => ({ ...valid, headers: without }),
    () => ({ ...valid, headers: { ...valid.headers, [name]: "" } }),
    () => ({ ...valid, headers: { ...valid.headers, [name]: headerText(random) } }),
    () => ({ ...valid, path: "/whatsapp/nobody" }),
    ...(platform === "whatsapp" ? [() => challengeRequest(headerText(random), forgedMark)] : []),
    // The following are refused only if the bytes and the time are signed.
    ...(platform === "telegram" ? [] : [() => ({ ...valid, body: `${body} ` })]),
    ...(platform === "slack" ? [() => sign(body, at - 400), () => sign(body, at + 400)] : []),
  ];
  return random.pick(choices)();
}

/** A text that is valid in a header. */
function headerText(random: Random): string {
  const value = String(hostileValue(random, ["sha256=", "v0=", "00".repeat(64), "A".repeat(8000)]));
  return value.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 8000);
}

/** A user's message to the agent: direct, in a group, or with a file. Its ids are unique to the case. */
function eventOf(platform: string, random: Random, text: string, index: number): object {
  const from = { id: 7_000_000_000 + random.integer(40) };
  switch (platform) {
    case "telegram": {
      const options = { from, updateId: 900_000_000 + index, messageId: index };
      return random.pick([
        () => textUpdate(text, options),
        () => groupUpdate(text, options),
        () => documentUpdate("file-1", { name: "a.txt", mimeType: "text/plain", caption: text }, options),
      ])();
    }
    case "slack":
      return random.pick([directMessage, appMention])(text, { ts: `1780000000.${index}` });
    case "whatsapp":
      return notify({
        ...whatsappMessage(text),
        id: `wamid.${index}`,
        from: random.pick(["447700900999", "16505551234"]),
      });
    default:
      return {
        ...random.pick([directCommand, guildCommand])(text),
        id: String(1_290_000_000_000_000_000n + BigInt(index)),
      };
  }
}
