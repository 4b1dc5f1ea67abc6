import { beforeEach, describe, expect, it } from "vitest";
import { type AttachmentOptions, createFetchAttachment } from "../../functions/agent/fetch-attachment.ts";
import type { Channel, MediaLocation } from "../../shared/channels/channel.ts";
import { createSlack } from "../../shared/channels/slack/slack.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Fetched, FetchRequest } from "../../shared/http/guarded-fetch.ts";
import type { RemoteMedia } from "../../shared/session/inbox-entry.ts";

const address = { channel: "slack", accountId: "default" };
const media: RemoteMedia = {
  type: "document",
  mimeType: "application/pdf",
  source: { url: "https://files.slack.com/files-pri/T1-F1/plan.pdf" },
};
const found: Fetched = {
  ok: true,
  url: "https://files.slack.com/",
  body: Buffer.from("%PDF"),
  contentType: "application/pdf",
};
const busy: Fetched = { ok: false, reason: "answered with 503", passing: true };

/** The fetched addresses, and the answers; the last answer is repeated. */
let requests: FetchRequest[];
let answers: Fetched[];
let waits: number[];
beforeEach(() => {
  [requests, answers, waits] = [[], [found], []];
});

function fetcher(account: object = {}, channel: Partial<Channel> = {}) {
  const channels = { slack: { ...createSlack(), ...channel } };
  const accounts = { default: { botToken: "***", signingSecret: "***", ...account } };
  const configuration = { load: async () => ({ ...defaults, channels: { slack: { accounts } } }) };
  const options: AttachmentOptions = {
    channels,
    configuration: configuration as AttachmentOptions["configuration"],
    secrets: { get: async (path) => (path.endsWith("botToken") ? "xoxb-1" : "secret") },
    async guardedFetch(request) {
      requests.push(request);
      return (answers.length > 1 ? answers.shift() : answers[0]) as Fetched;
    },
    wait: async (ms) => void waits.push(ms),
  };
  return createFetchAttachment(options);
}

const locating = (...locations: MediaLocation[]) => ({
  locate: async () => (locations.length > 1 ? locations.shift() : locations[0]) as MediaLocation,
});

describe("an attachment", () => {
  it("is fetched with the account's credentials, only from the public Internet", async () => {
    expect(await fetcher()(address, media, 5000)).toEqual({
      ok: true,
      body: Buffer.from("%PDF"),
      mimeType: "application/pdf",
    });
    expect(requests).toMatchObject([
      { url: media.source.url, headers: { authorization: "Bearer xoxb-1" }, trustedOrigins: [] },
    ]);
    expect(requests[0]?.timeoutMs).toBeLessThanOrEqual(5000);
  });

  it("may be at the origin in the account's settings", async () => {
    const at = fetcher({ apiBaseUrl: "http://10.0.0.7:8081/slack/" });
    await at(address, { ...media, source: { url: "http://10.0.0.7:8081/files/1" } }, 5000);
    expect(requests).toMatchObject([
      { headers: { authorization: "Bearer xoxb-1" }, trustedOrigins: ["http://10.0.0.7:8081"] },
    ]);
  });

  it.each([
    "https://elsewhere.example/plan.pdf",
    "https://files.slack.com.elsewhere.example/plan.pdf",
    "https://notslack.com/plan.pdf",
    "http://files.slack.com/plan.pdf",
    "not an address",
  ])("at a foreign address gets no Slack token: %s", async (url) => {
    await fetcher()(address, { ...media, source: { url } }, 5000);
    expect(requests).toMatchObject([{ url, headers: {} }]);
  });

  it("is located and fetched again after temporary failures: addresses expire", async () => {
    answers = [busy, busy, found];
    expect(await fetcher()(address, media, 5000)).toMatchObject({ ok: true });
    expect(waits).toEqual([500, 1000]);
    const located = locating(
      { status: "retry", reason: "429" },
      { status: "found", url: "https://files.slack.com/1" },
    );
    requests.length = 0;
    answers = [found];
    expect(await fetcher({}, located)(address, media, 5000)).toMatchObject({ ok: true });
    expect(requests).toMatchObject([{ url: "https://files.slack.com/1" }]);
  });

  it("is given up after three attempts, and at once after a permanent failure", async () => {
    answers = [busy];
    expect(await fetcher()(address, media, 5000)).toMatchObject({ ok: false, reason: "answered with 503" });
    expect(requests).toHaveLength(3);
    answers = [{ ok: false, reason: "not a public address", passing: false }];
    expect(await fetcher()(address, media, 5000)).toMatchObject({ reason: "not a public address" });
    expect(requests).toHaveLength(4);
    const gone = fetcher({}, locating({ status: "failed", reason: "200 file_not_found" }));
    expect(await gone(address, media, 5000)).toMatchObject({ ok: false, reason: "200 file_not_found" });
    expect(requests).toHaveLength(4);
  });

  it("respects its time limit", async () => {
    answers = [busy];
    expect(await fetcher()(address, media, 400)).toMatchObject({ ok: false });
    expect(requests).toHaveLength(1);
  });

  it("is not a login page", async () => {
    answers = [{ ok: true, url: "", body: Buffer.from("<html>"), contentType: "text/html; charset=utf-8" }];
    expect(await fetcher()(address, media, 5000)).toEqual({
      ok: false,
      reason: "the platform sent a web page instead of the file; check the bot's permissions",
    });
    const page = { ...media, mimeType: "text/html" };
    expect(await fetcher()(address, page, 5000)).toMatchObject({ ok: true, mimeType: "text/html" });
  });

  it("has its server's type if the platform gives none", async () => {
    const untyped: RemoteMedia = { type: "document", source: media.source };
    expect(await fetcher()(address, untyped, 5000)).toMatchObject({ mimeType: "application/pdf" });
    answers = [{ ok: true, url: "", body: Buffer.from("?") }];
    expect(await fetcher()(address, untyped, 5000)).toMatchObject({ mimeType: "application/octet-stream" });
  });

  it("without an address or an account is not fetched", async () => {
    const plain = fetcher({}, { locate: undefined });
    expect(await plain(address, { ...media, source: {} }, 5000)).toMatchObject({
      reason: "the platform names no address",
    });
    expect(await plain({ ...address, channel: "matrix" }, media, 5000)).toMatchObject({ ok: false });
    expect(await plain({ ...address, accountId: "other" }, media, 5000)).toMatchObject({
      reason: "slack/other: not configured",
    });
    expect(requests).toEqual([]);
  });
});
