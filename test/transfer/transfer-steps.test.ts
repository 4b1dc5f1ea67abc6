import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { bindPeer, openConnection, type PeerRecord } from "../../shared/peers/registry.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import { beginTransfer, checkAlive, failTransfer, resumeTransfers } from "../../shared/transfer/transfer.ts";
import { checkNodes, endName, endText, parseEnds } from "../../shared/transfer/transfer-endpoint.ts";
import { isSameOwner, statusOf } from "../../shared/transfer/transfer-owner.ts";
import { transferPartKey } from "../../shared/transfer/transfer-parts.ts";
import * as reports from "../../shared/transfer/transfer-reports.ts";
import {
  changeTransfer,
  createTransfer,
  lateness,
  listTransfers,
  readTransfer,
  type Transfer,
} from "../../shared/transfer/transfer-state.ts";
import type { TransferWorld } from "../../shared/transfer/transfer-world.ts";
import type { Table } from "../../shared/world/world.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const content = "x".repeat(2500);
const sha256 = createHash("sha256").update(content).digest("hex");
const laptop = { mode: "node", id: "laptop" };
const pi = { mode: "node", id: "pi" };
const sent = { size: 2500, mime: "text/plain" };
const id = 7;

let now: number;
let table: Table;
let bucket: MemoryBucket;
let world: Parameters<typeof reports.givePart>[0];
/** What machines were sent since they were last looked at. */
let posted: unknown[];
let outcome: "sent" | "gone";

beforeEach(async () => {
  now = 10 * day;
  table = createMemoryTable();
  bucket = createMemoryBucket();
  posted = [];
  outcome = "sent";
  const tokenId = (await createToken(table, { name: "nodes", scopes: ["node"] }, now)).id;
  for (const { id: name } of [laptop, pi]) {
    const connection = { connectionId: name, openedAt: now, tokenId };
    const peer = {
      ...connection,
      id: name,
      mode: "node",
      connectedAt: now,
      version: "0",
      platform: "",
    } as const;
    await openConnection(table, connection);
    await bindPeer(table, connection, peer);
  }
  world = {
    ...({} as TransferWorld),
    ...{ table, bucket, now: () => now },
    sockets: {
      async post(connectionId, frame) {
        if (frame.type === "evt") posted.push([connectionId, frame.event, frame.payload]);
        return outcome;
      },
      close: async () => {},
    },
    presigner: {
      get: async (key, seconds) => `get ${key} ${seconds}`,
      put: async (key, seconds, bytes) => `put ${key} ${seconds} ${bytes}`,
    },
  };
});

const owner = { kind: "client", tokenId: "t" } as const;
const ends = (source: string, destination: string) =>
  parseEnds({ source, destination, agentId: "main", clientId: "cli" });
const start = (destination = "pi:/b", source = "laptop:/a") =>
  beginTransfer(world, { id, ...ends(source, destination), owner, partBytes: 1000 });
const stored = async () => (await readTransfer(table, id, now))!;
const told = () => posted.splice(0);
const meta = (report: object, by = laptop) => reports.reportMeta(world, by, id, report);
const accept = (error?: string, by = pi) => reports.reportAccept(world, by, id, error);
const complete = (report: object, by = laptop) => reports.reportComplete(world, by, id, report);
const done = (report: object, by = pi) => reports.reportDone(world, by, id, report);
const part = (by: typeof pi, n: number) => reports.givePart(world, by, id, n);

/** The steps of a transfer between machines: what is reported, and what follows from it. */
const steps: [step: string, report: () => Promise<unknown>, follows: unknown[]][] = [
  ["asked", start, ["laptop", "transfer.send", { transferId: id, path: "/a" }]],
  ["offered", () => meta(sent), ["pi", "transfer.receive", { transferId: id, path: "/b", ...sent }]],
  [
    "sending",
    accept,
    ["laptop", "transfer.start", { transferId: id, path: "/a", size: 2500, partBytes: 1000, stored: 0 }],
  ],
  [
    "stored",
    () => complete({ sha256 }),
    ["pi", "transfer.end", { transferId: id, path: "/b", size: 2500, partBytes: 1000, sha256 }],
  ],
];
const reach = async (step: string) => {
  for (const [name, report] of steps) {
    await report();
    if (name === step) break;
  }
  told();
};

describe("a transfer between two machines", () => {
  it("tells the machine whose turn it is what to do, and again when a report is repeated", async () => {
    for (const [step, report, follows] of steps) {
      await report();
      expect([(await stored()).step, told()]).toEqual([step, [follows]]);
      await report();
      expect([(await stored()).step, told()]).toEqual([step, [follows]]);
    }
    await done({ bytesWritten: 2500 });
    expect(await stored()).toMatchObject({ step: "done", stored: 3, taken: 3 });
    expect(told()).toEqual([]);
  });

  it.each(steps.map(([step]) => step))(
    "has the machine of the step %s go on when it connects, and no other",
    async (step) => {
      await reach(step);
      const turn = step === "asked" || step === "sending" ? [laptop, pi] : [pi, laptop];
      await resumeTransfers(world, turn[1]!);
      await resumeTransfers(world, { mode: "client", id: turn[0]!.id });
      expect(told()).toEqual([]);
      await resumeTransfers(world, turn[0]!);
      expect(told()).toHaveLength(1);
    },
  );

  it.each(steps.map(([step]) => step))("is not changed at the step %s by reports of others", async (step) => {
    await reach(step);
    const before = await stored();
    const other = { mode: "node", id: "other" };
    for (const by of [other, { mode: "client", id: "laptop" }, pi]) {
      await meta({ size: 1 }, by);
      await complete({ sha256: "other" }, by);
    }
    for (const by of [other, laptop]) {
      await accept("no", by);
      await done({ error: "no" }, by);
    }
    expect(await stored()).toEqual(before);
  });

  it.each<[string, string, () => Promise<unknown>, string]>([
    ["asked", "cannot read its file", () => meta({ error: "no such file" }), "laptop: no such file"],
    ["asked", "tells no size", () => meta({}), "laptop: reported no size"],
    [
      "asked",
      "has a file above 5 GB",
      () => meta({ size: 5 * 1024 ** 3 + 1 }),
      "laptop: the file has 5.1 GB; the limit of a transfer is 5 GB",
    ],
    ["offered", "refuses it", () => accept("no space"), "pi: no space"],
    ["sending", "gives up", () => complete({ error: "gone" }), "laptop: gone"],
    ["sending", "tells no SHA-256", () => complete({}), "laptop: reported no SHA-256"],
    ["stored", "gives up", () => done({ error: "full" }), "pi: full"],
    ["stored", "wrote too little", () => done({ bytesWritten: 1 }), "pi: wrote 1 of 2500 bytes"],
  ])(
    "fails at the step %s when a machine %s; both drop it, and its parts go",
    async (step, _, report, error) => {
      await reach(step);
      await bucket.put(transferPartKey(id, 0), "x");
      await report();
      expect(await stored()).toMatchObject({ step: "failed", error });
      const cancelled = (name: string, path: string) => [
        ...[name, "transfer.cancel", { transferId: id, path, reason: error }],
      ];
      const both = [cancelled("laptop", "/a"), cancelled("pi", "/b")];
      expect(told()).toEqual(both);
      for (const machine of [laptop, pi]) await resumeTransfers(world, machine);
      expect(told()).toEqual(both);
      await report();
      expect(told()).toEqual(both);
      if (step !== "asked") expect(bucket.keys()).toEqual([]);
    },
  );

  it("has at most 5 GB", async () => {
    await reach("asked");
    await meta({ size: 5 * 1024 ** 3 });
    expect((await stored()).step).toBe("offered");
  });

  it("fails at its start when the source is not connected, and later waits for it", async () => {
    outcome = "gone";
    expect(await start()).toMatchObject({ step: "failed", error: "Node not connected: laptop" });
    outcome = "sent";
    await table.delete({ pk: "TRANSFER", sk: String(id).padStart(10, "0") });
    await start();
    outcome = "gone";
    await meta(sent);
    expect((await stored()).step).toBe("offered");
  });

  it("keeps its first end when it fails twice, and an error that can be shown", async () => {
    const transfer = await start();
    expect((await failTransfer(world, transfer, "x".repeat(2000))).error).toHaveLength(1000);
    expect((await failTransfer(world, transfer, "again")).error).toHaveLength(1000);
  });
});

describe("the URL of a part", () => {
  it("is given to the machine whose turn it is, for the bytes of that part, and says how far it is", async () => {
    await reach("sending");
    const headers = { "content-type": "application/octet-stream" };
    expect(await part(laptop, 0)).toEqual({
      url: `put ${transferPartKey(id, 0)} 120 1000`,
      headers,
      bytes: 1000,
    });
    expect(await part(laptop, 2)).toEqual({
      url: `put ${transferPartKey(id, 2)} 120 500`,
      headers,
      bytes: 500,
    });
    await part(laptop, 1);
    expect(await stored()).toMatchObject({ stored: 2, taken: 0 });
    await complete({ sha256 });
    expect(await part(pi, 2)).toEqual({ url: `get ${transferPartKey(id, 2)} 120`, headers: {}, bytes: 500 });
    await part(pi, 1);
    expect(await stored()).toMatchObject({ stored: 3, taken: 2 });
  });

  it.each<[string, string, () => Promise<unknown>, object]>([
    ["of a transfer that is none", "sending", () => reports.givePart(world, laptop, 8, 0), { code: 404 }],
    ["for another machine", "sending", () => part({ mode: "node", id: "other" }, 0), { code: 404 }],
    [
      "for a client that is called like the node",
      "sending",
      () => part({ mode: "client", id: "laptop" }, 0),
      { code: 404 },
    ],
    [
      "behind the last part",
      "sending",
      () => part(laptop, 3),
      { code: 404, message: "part: the transfer has 3 parts, from 0" },
    ],
    ["for the destination while the source sends", "sending", () => part(pi, 0), { code: 409 }],
    ["for the source while the destination fetches", "stored", () => part(laptop, 0), { code: 409 }],
    ["before the file is accepted", "offered", () => part(laptop, 0), { code: 409 }],
  ])("is refused %s", async (_, step, ask, error) => {
    await reach(step);
    await expect(ask()).rejects.toMatchObject(error);
  });

  it("is refused with the reason once the transfer has ended", async () => {
    await reach("sending");
    await failTransfer(world, await stored(), "stopped");
    await expect(part(laptop, 0)).rejects.toMatchObject({ code: 409, message: "stopped" });
  });
});

describe("a transfer", () => {
  const transfer = async () => ({ ...(await start()), size: 1_000_000 });

  it("is late ten minutes after it last went on, and after an hour and what its bytes take", async () => {
    const begun = await transfer();
    expect(lateness(begun, now + 10 * minute - 1)).toBeUndefined();
    expect(lateness(begun, now + 10 * minute)).toBe("stalled");
    const lively = { ...begun, aliveUntil: now + day };
    expect(lateness(lively, now + 60 * minute + 9_999)).toBeUndefined();
    expect(lateness(lively, now + 60 * minute + 10_000)).toBe("slow");
    expect(lateness({ ...lively, begunAt: undefined }, now + 2 * 60 * minute)).toBeUndefined();
    expect(lateness({ ...begun, step: "done" }, now + day)).toBeUndefined();
    now += 10 * minute;
    expect(await checkAlive(world, begun)).toMatchObject({ error: "laptop made no progress for 10 minutes" });
  });

  it("goes on for ten minutes more with each step, and is kept for a day", async () => {
    await start();
    now += 5 * minute;
    await meta(sent);
    expect((await stored()).aliveUntil).toBe(now + 10 * minute);
    expect(await listTransfers(table, now + day - 1000)).toHaveLength(1);
    expect(await listTransfers(table, now + day)).toEqual([]);
    expect(await readTransfer(table, id, now + day)).toBeUndefined();
  });

  it("is the stored one when its start is repeated, and changes at the step that was seen alone", async () => {
    const first = await start();
    await meta(sent);
    expect(await createTransfer(table, { ...first, partBytes: 1 }, now)).toMatchObject({ partBytes: 1000 });
    expect(await changeTransfer(table, first, { error: "late" }, now)).toMatchObject({ step: "offered" });
    expect(await stored()).not.toHaveProperty("error");
    const other = { id, ...ends("laptop:/a", "pi:/b"), owner: { ...owner, tokenId: "other" } };
    await expect(beginTransfer(world, other)).rejects.toMatchObject({ code: 409, retryable: true });
  });

  it("does not take a failure of the table for a change of others", async () => {
    const fail = () => Promise.reject(new Error("throttled"));
    const begun = await start();
    const failing = { ...table, put: fail, update: fail };
    await expect(createTransfer(failing, begun, now)).rejects.toThrow("throttled");
    await expect(changeTransfer(failing, begun, {}, now)).rejects.toThrow("throttled");
  });

  it.each<[Partial<Transfer>, object]>([
    [{ step: "asked" }, { status: "running", sent: 0, received: 0 }],
    [
      { step: "sending", size: 2500, stored: 2 },
      { status: "running", sent: 2000, received: 0, size: 2500 },
    ],
    [
      { step: "sending", size: 2500, stored: 3 },
      { status: "running", sent: 2500, received: 0 },
    ],
    [
      { step: "stored", size: 2500, stored: 0, taken: 1 },
      { status: "running", sent: 2500, received: 1000 },
    ],
    [
      { step: "done", size: 2500, mime: "a/b" },
      { status: "done", sent: 2500, received: 2500, mime: "a/b" },
    ],
    [
      { step: "failed", size: 2500, stored: 1, error: "no" },
      { status: "failed", sent: 1000, error: "no" },
    ],
  ])("of which %j is known is shown as %j", async (known, shown) => {
    const begun = { ...(await start()), ...known };
    expect(statusOf(begun)).toMatchObject({
      transferId: id,
      source: "laptop:/a",
      destination: "pi:/b",
      ...shown,
    });
    expect(Object.keys(statusOf(begun)).includes("size")).toBe(known.size !== undefined);
  });

  it("belongs to the client or the call that asked for it", () => {
    const call = (callId: string) =>
      ({ kind: "call", address: { sessionKey: "s", runId: "r", step: 1, callId }, nodeId: "n" }) as const;
    expect([isSameOwner(owner, { ...owner }), isSameOwner(call("a"), call("a"))]).toEqual([true, true]);
    const others = [
      [owner, { ...owner, tokenId: "u" }],
      [owner, call("a")],
      [call("a"), owner],
      [call("a"), call("b")],
    ] as const;
    expect(others.map(([one, other]) => isSameOwner(one, other))).toEqual([false, false, false, false]);
  });
});

describe("an end of a transfer", () => {
  it.each([
    ["laptop:/a/b", "laptop:/a/b", "laptop"],
    [":~/b", ":~/b", "this machine"],
    ["gsv:/docs/b", "gsv:docs/b", "the workspace"],
    ["gsv:docs/", "gsv:docs/a", "the workspace"],
    ["pi:", "pi:a", "pi"],
  ])("%s is %s", (written, text, name) => {
    const { destination } = ends("laptop:/x/a", written);
    expect([endText(destination), endName(destination)]).toEqual([text, name]);
  });

  it.each([
    ...["a", ":", "laptop:", "gsv:../x", "gsv:.git/x", "pi:/\0", "pi:/\ud800", `gsv:${"x".repeat(1100)}`],
  ])("cannot be %j", (written) => {
    expect(() => ends(written, "pi:/b")).toThrow();
  });

  it("of this machine needs a client, and an archive of a session is no destination", () => {
    expect(() => parseEnds({ source: ":/a", destination: "pi:/b", agentId: "main" })).toThrow(
      "source: expected",
    );
    expect(() => ends("pi:/b", "gsv:sessions/x")).toThrow("session archives");
    expect(ends("gsv:sessions/x", "pi:/b").source.path).toBe("sessions/x");
  });

  it("at a node needs one that is connected and can transfer", () => {
    const node = (name: string, capabilities?: string[]) => ({ id: name, capabilities }) as PeerRecord;
    const able = [node("laptop", ["transfer"]), node("pi", ["transfer"])];
    expect(() => checkNodes(ends("laptop:/a", "pi:/b"), able)).not.toThrow();
    expect(() => checkNodes(ends("gsv:a", ":/b"), [])).not.toThrow();
    expect(() => checkNodes(ends("gsv:a", "pi:/b"), able.slice(0, 1))).toThrow("node not connected: pi");
    for (const old of [node("pi"), node("pi", ["probe"])])
      expect(() => checkNodes(ends("gsv:a", "pi:/b"), [old])).toThrow("the node pi cannot transfer files");
  });
});
