import { beforeEach, describe, expect, it } from "vitest";
import { destinationOf, loadFile } from "../../../functions/agent/tools/native/message-tool.ts";
import type { ChannelOrigin } from "../../../shared/channels/channel.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import { openWorkspace } from "../../../shared/workspace/workspace-files.ts";
import { imageBytes } from "../../support/images.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";

const last: ChannelOrigin = {
  kind: "channel",
  channel: "slack",
  accountId: "work",
  peer: { kind: "thread", id: "C1/1780000000.000200" },
  replyToId: "1780000000.000300",
  context: { threadTs: "1780000000.000200" },
};
const to = (args: Partial<Parameters<typeof destinationOf>[0]>, from: ChannelOrigin | undefined = last) =>
  destinationOf({ text: "hi", peerKind: undefined, ...args }, from);

describe("a message goes", () => {
  it("to the conversation's last channel by default, and answers no message there", () => {
    const { replyToId: _answered, ...there } = last;
    expect(to({})).toEqual(there);
    expect(to({ channel: "slack", accountId: "work" })).toEqual(there);
    expect(to({ replyToId: "5" })).toEqual({ ...there, replyToId: "5" });
  });

  it("to somebody else on the same channel, from the same account by default", () => {
    const peer = { kind: "dm", id: "D9" };
    expect(to({ to: "D9" })).toEqual({ kind: "channel", channel: "slack", accountId: "work", peer });
    expect(to({ to: "D9", accountId: "home" })).toMatchObject({ accountId: "home", peer });
  });

  it("to another channel, from its account `default` by default", () => {
    expect(to({ channel: "telegram", to: "-1001", peerKind: "group" })).toEqual({
      kind: "channel",
      channel: "telegram",
      accountId: "default",
      peer: { kind: "group", id: "-1001" },
    });
    expect(to({ channel: "telegram", to: "1" }, undefined)).toMatchObject({ accountId: "default" });
  });

  it("nowhere without a destination", () => {
    expect(() => destinationOf({ text: "hi" }, undefined)).toThrow("not held on a channel yet");
    expect(() => to({ channel: "telegram" })).toThrow("to: give the id");
    expect(() => to({ accountId: "home" })).toThrow("to: give the id");
    expect(() => destinationOf({ text: "hi", to: "1" }, undefined)).toThrow(PeerError);
  });
});

describe("a file to be sent", () => {
  const sessionKey = "agent:main:main";
  const key = `media/${sessionKey}/1.pdf`;
  let bucket: ReturnType<typeof createMemoryBucket>;
  let fetched: string[];
  const load = (media: string, kind = "main", contentType?: string) => {
    const guardedFetch = async ({ url }: { url: string }) => {
      fetched.push(url);
      return { ok: true, url, body: Buffer.from("bytes"), ...(contentType ? { contentType } : {}) } as const;
    };
    const turn = { agentId: "main", audience: audienceOf(kind) };
    return loadFile({ bucket, workspace: openWorkspace(bucket), guardedFetch }, turn, sessionKey, media);
  };
  beforeEach(async () => {
    bucket = createMemoryBucket();
    fetched = [];
    const metadata = { originalFilename: "plan.pdf" };
    await bucket.put(key, Buffer.from("%PDF"), { contentType: "application/pdf", metadata });
    await bucket.put("media/agent:main:mainly/2.pdf", Buffer.from("%PDF"));
    await bucket.put("agents/main/MEMORY.md", "a secret");
    await bucket.put("agents/main/notes/list.csv", "a,b");
  });

  it("is media of the conversation, under its original name", async () => {
    expect(await load(key)).toEqual({
      body: new Uint8Array(Buffer.from("%PDF")),
      mimeType: "application/pdf",
      filename: "plan.pdf",
    });
    const image = imageBytes("image/webp");
    await bucket.put(`media/${sessionKey}/3.bin`, image, { contentType: "application/octet-stream" });
    expect(await load(`media/${sessionKey}/3.bin`)).toMatchObject({ mimeType: "image/webp" });
  });

  it.each([
    "media/agent:main:mainly/2.pdf",
    "media/agent:main:main/../agent:main:mainly/2.pdf",
    `media/${sessionKey}/gone.pdf`,
    "agents/main/MEMORY.md",
    "",
  ])("is not media of another conversation, and no other object: %s", async (media) => {
    await expect(load(media)).rejects.toThrow("media: this conversation has no such file");
  });

  it("is a workspace file, if this conversation may read it", async () => {
    expect(await load("gsv:notes/list.csv")).toMatchObject({ mimeType: "text/plain", filename: "list.csv" });
    expect(await load("gsv:MEMORY.md")).toMatchObject({ body: Buffer.from("a secret") });
    await expect(load("gsv:MEMORY.md", "group")).rejects.toThrow("private memory");
    await expect(load("gsv:memory/2026-01-01.md", "group")).rejects.toThrow("private memory");
    await expect(load("gsv:../other/MEMORY.md")).rejects.toThrow("path: must not contain");
    await expect(load("gsv:none.md")).rejects.toMatchObject({ code: 404 });
  });

  it.each([
    ["https://files.example/a/plan.pdf?x=1", "application/pdf", "application/pdf", "plan.pdf"],
    ["https://files.example/", "text/html; charset=utf-8", "text/html", "file.bin"],
    ["https://files.example/download", "application/pdf", "application/pdf", "download.pdf"],
    ["https://files.example/a", undefined, "application/octet-stream", "a.bin"],
    ["https://files.example/a.txt", "what is this", "application/octet-stream", "a.txt"],
  ])("is a file at an address: %s", async (url, contentType, mimeType, filename) => {
    expect(await load(url, "group", contentType)).toMatchObject({ mimeType, filename });
    expect(fetched).toEqual([url]);
  });

  it("is not an address that the guarded fetch refuses", async () => {
    const guardedFetch = async () => ({ ok: false, reason: "not a public address", passing: false }) as const;
    const turn = { agentId: "main", audience: audienceOf("main") };
    const from = { bucket, workspace: openWorkspace(bucket), guardedFetch };
    await expect(loadFile(from, turn, sessionKey, "http://169.254.169.254/")).rejects.toThrow(
      "media: could not be fetched: not a public address",
    );
  });
});
