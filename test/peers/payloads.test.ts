import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { maxMediaBytes } from "../../shared/media/media-store.ts";
import { openPayloads, sendByReference } from "../../shared/peers/payloads.ts";
import { openConnection } from "../../shared/peers/registry.ts";
import {
  eventFrame,
  type Frame,
  maxFrameBytes,
  maxPayloadBytes,
  okFrame,
  payloadCapability,
} from "../../shared/protocol/frames.ts";
import type { Sockets, Table } from "../../shared/world/world.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";

const presigner = {
  get: async (key: string, seconds: number) => `https://storage/${key}?get=${seconds}`,
  put: async (key: string, seconds: number, bytes: number) =>
    `https://storage/${key}?put=${seconds}&bytes=${bytes}`,
};

let bucket: MemoryBucket;
let reads: number;
let posted: { connectionId: string; frame: Frame }[];
let sockets: Sockets;

beforeEach(async () => {
  bucket = createMemoryBucket();
  const table = createMemoryTable();
  const connection = { openedAt: 0 };
  for (const connectionId of ["new-1", "new-2"])
    await openConnection(table, { ...connection, connectionId, capabilities: [payloadCapability] });
  await openConnection(table, { ...connection, connectionId: "old" });
  await openConnection(table, { ...connection, connectionId: "other", capabilities: ["other"] });
  reads = 0;
  posted = [];
  const counted: Table = { ...table, get: (key) => table.get(key).finally(() => reads++) };
  const plain: Sockets = {
    async post(connectionId, frame) {
      if (Buffer.byteLength(JSON.stringify(frame)) > maxFrameBytes) return "too large";
      posted.push({ connectionId, frame });
      return "sent";
    },
    close: async () => {},
  };
  const payloads = openPayloads(bucket, presigner);
  sockets = sendByReference(plain, { table: counted, payloads, now: () => 1000 });
});

const failed = (error: string) =>
  ({ runId: "run", sessionKey: "agent:main:main", state: "error", error }) as const;

describe("a frame that fits", () => {
  it("is posted unchanged: nothing is read or stored", async () => {
    const frame = eventFrame("chat", failed("hello"));
    expect(await sockets.post("new-1", frame)).toBe("sent");
    expect(posted).toEqual([{ connectionId: "new-1", frame }]);
    expect([reads, bucket.requests]).toEqual([0, []]);
  });
});

describe("a frame that is too large", () => {
  const large = "x".repeat(200_000);

  it("is stored, and its head is posted with the reference", async () => {
    expect(await sockets.post("new-1", okFrame<"tool.invoke">("7", { result: large }))).toBe("sent");
    const [key = ""] = bucket.keys();
    expect(JSON.parse(bucket.peek(key) ?? "")).toEqual(okFrame<"tool.invoke">("7", { result: large }));
    const payloadRef = { url: `https://storage/${key}?get=300`, bytes: bucket.peek(key)?.length };
    expect(posted[0]?.frame).toEqual({ type: "res", id: "7", ok: true, payloadRef });
  });

  it("keeps the fields that identify an event", async () => {
    await sockets.post("new-1", { ...eventFrame("chat", failed(large)), seq: 4 });
    expect(posted[0]?.frame).toEqual({
      type: "evt",
      event: "chat",
      seq: 4,
      payloadRef: expect.any(Object),
    });
  });

  it("is stored once for all receivers", async () => {
    const frame = eventFrame("chat", failed(large));
    const outcomes = await Promise.all(["new-1", "new-2", "old"].map((id) => sockets.post(id, frame)));
    expect(outcomes).toEqual(["sent", "sent", "too large"]);
    expect(bucket.calls.put).toBe(1);
    expect(posted.map(({ connectionId }) => connectionId).sort()).toEqual(["new-1", "new-2"]);
  });

  it.each(["old", "other", "unknown"])(
    "stays too large for a connection that did not announce the capability: %s",
    async (id) => {
      expect(await sockets.post(id, okFrame<"tool.invoke">("7", { result: large }))).toBe("too large");
      expect(bucket.requests).toEqual([]);
    },
  );

  it("stays too large above the limit of a payload", async () => {
    const frame = (bytes: number) => okFrame<"tool.invoke">("7", { result: "x".repeat(bytes) });
    const room = maxPayloadBytes - JSON.stringify(frame(0)).length;
    expect(await sockets.post("new-1", frame(room + 1))).toBe("too large");
    expect(bucket.requests).toEqual([]);
    expect(await sockets.post("new-1", frame(room))).toBe("sent");
  });
});

describe("uploaded params", () => {
  it("are consumed once, by the connection that uploaded them", async () => {
    const payloads = openPayloads(bucket, presigner);
    const { ref, url } = await payloads.reserve("abc=", 12, "params");
    const key = `payloads/in/abc%3D/${ref}.json`;
    expect(url).toBe(`https://storage/${key}?put=300&bytes=12`);
    await bucket.put(key, '{"path":"a"}');
    await expect(payloads.take("abd=", ref)).rejects.toMatchObject({ code: 404 });
    expect(await payloads.take("abc=", ref)).toEqual({ path: "a" });
    await expect(payloads.take("abc=", ref)).rejects.toMatchObject({ code: 404 });
    expect(bucket.keys()).toEqual([]);
  });

  it("that are not JSON, or larger than a payload, are refused and removed", async () => {
    const payloads = openPayloads(bucket, presigner);
    for (const [body, code] of [
      ["{", 400],
      [`"${"x".repeat(maxPayloadBytes)}"`, 413],
    ] as const) {
      const { ref } = await payloads.reserve("c", 10, "params");
      await bucket.put(`payloads/in/c/${ref}.json`, body);
      await expect(payloads.take("c", ref)).rejects.toMatchObject({ code });
    }
    expect(bucket.keys()).toEqual([]);
  });

  it("cannot be outside the connection's own prefix", async () => {
    const payloads = openPayloads(bucket, presigner);
    const id = "a0000000-0000-0000-0000-000000000000";
    for (const ref of ["../other/x", "..", "", "%2e%2e", id.toUpperCase(), `../${id}`, `${id}/..`])
      await expect(payloads.take("c", ref)).rejects.toMatchObject({ code: 400 });
    const { url } = await payloads.reserve("../../agents/main", 10, "params");
    expect(new URL(url).pathname).toMatch(/^\/payloads\/in\/..%2F..%2Fagents%2Fmain\/[0-9a-f-]+\.json$/);
    expect(bucket.requests).toEqual([]);
  });
});

describe("a stored file", () => {
  it("is downloaded by its URL, with its type", async () => {
    const payloads = openPayloads(bucket, presigner);
    const key = await payloads.keepFile({ mimeType: "image/png", body: Buffer.from("x") });
    expect(key).toMatch(/^payloads\/files\//);
    expect(await bucket.head(key)).toMatchObject({ contentType: "image/png" });
    expect(await payloads.fileUrl(key)).toBe(`https://storage/${key}?get=300`);
  });
});

describe("an uploaded attachment", () => {
  it("is its bytes, consumed once, on its own connection, and not as params", async () => {
    const payloads = openPayloads(bucket, presigner);
    const { ref, url } = await payloads.reserve("abc", maxMediaBytes, "media");
    expect(url).toBe(`https://storage/payloads/in/abc/${ref}.bin?put=300&bytes=${maxMediaBytes}`);
    await bucket.put(`payloads/in/abc/${ref}.bin`, "{}");
    await expect(payloads.take("abc", ref)).rejects.toMatchObject({ code: 404 });
    await expect(payloads.takeMedia("abd", ref)).rejects.toMatchObject({ code: 404 });
    expect(Buffer.from(await payloads.takeMedia("abc", ref)).toString()).toBe("{}");
    await expect(payloads.takeMedia("abc", ref)).rejects.toMatchObject({ code: 404 });
    expect(bucket.keys()).toEqual([]);
  });

  it("may have at most 25 MB, and params at most 10 MB", async () => {
    const payloads = openPayloads(bucket, presigner);
    await expect(payloads.reserve("c", maxMediaBytes + 1, "media")).rejects.toMatchObject({ code: 413 });
    await expect(payloads.reserve("c", maxPayloadBytes + 1, "params")).rejects.toMatchObject({ code: 413 });
  });

  it.each(["../x", "", "payloads"])("cannot be %j, which is not a ref", async (ref) => {
    await expect(openPayloads(bucket, presigner).takeMedia("c", ref)).rejects.toMatchObject({ code: 400 });
  });
});
