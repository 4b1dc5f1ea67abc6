import { chmod, mkdir, stat, symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Method } from "../../shared/protocol/methods.ts";
import type { TransferStatus } from "../../shared/protocol/results.ts";
import { beginTransfer } from "../../shared/transfer/transfer.ts";
import { parseEnds } from "../../shared/transfer/transfer-endpoint.ts";
import { transferPartKey } from "../../shared/transfer/transfer-parts.ts";
import { randomBytesFrom } from "../support/random.ts";
import { until } from "../support/until.ts";
import { type Machine, openTransferBench, type TransferBench } from "./transfer-bench.ts";

let bench: TransferBench;
let laptop: Machine;
let pi: Machine;
let cli: Machine;
let transferId = 0;

/** A file of five parts, the last of them half as large. */
const partBytes = 1000;
const size = 4500;
const content = Buffer.from(randomBytesFrom(size, 1));

beforeAll(async () => {
  bench = await openTransferBench();
  [laptop, pi, cli] = [await bench.node("laptop"), await bench.node("pi"), await bench.client()];
});
beforeEach(async () => {
  for (const machine of [laptop, pi, cli]) await machine.start();
  transferId = 0;
});
afterAll(() => bench.close());

const call = async <R = TransferStatus>(method: Method, params: object) =>
  (await cli.request(method, params)) as R;
const open = (source: string, destination: string) => call("transfer.open", { source, destination });
const status = () => call("transfer.status", { transferId });

/** Begins a transfer with small parts. */
async function begin(source: string, destination: string): Promise<void> {
  const ends = parseEnds({ source, destination, agentId: "main", clientId: "cli" });
  const { tokenId } = (await bench.state.table.get({ pk: "PEER#client", sk: "cli" })) as { tokenId: string };
  const owner = { kind: "client", tokenId } as const;
  transferId = Math.floor(Math.random() * 2 ** 32);
  await beginTransfer(bench.outside, { id: transferId, ...ends, owner, partBytes });
}

async function ended(): Promise<TransferStatus> {
  await until(async () => (await status()).status !== "running", "the transfer ends");
  const last = await status();
  for (const machine of [laptop, pi, cli]) await machine.settled();
  return last;
}

async function copied(source: string, destination: string): Promise<TransferStatus> {
  await begin(source, destination);
  return ended();
}

const workspace = async (path: string) => {
  const file = await bench.bucket.get(`agents/main/${path}`);
  return file && Buffer.from(file.body);
};

/** The bytes as one value: the matchers take their time for each byte of a buffer. */
const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex");

describe("a file arrives as it was sent", () => {
  it("from node to node, and its parts are removed", async () => {
    await laptop.write("a.bin", content);
    const last = await copied("laptop:a.bin", "pi:new/folder/b.bin");
    expect(last).toMatchObject({ status: "done", size, sent: size, received: size });
    expect(hex(await pi.read("new/folder/b.bin"))).toBe(hex(content));
    expect(await bench.parts()).toEqual([]);
  });

  it("under the name of the source in a folder, in the mode of the file it replaces, behind a link", async () => {
    await laptop.write("run.sh", content);
    await mkdir(join(pi.folder, "bin"), { recursive: true });
    await chmod(await pi.write("real.sh", Buffer.from("old")), 0o750);
    await symlink("../real.sh", join(pi.folder, "bin/run.sh"));
    expect(await copied("laptop:run.sh", "pi:bin/")).toMatchObject({ destination: "pi:bin/run.sh" });
    expect(hex(await pi.read("real.sh"))).toBe(hex(content));
    expect((await stat(join(pi.folder, "real.sh"))).mode & 0o777).toBe(0o750);
  });

  it.each([0, 1, partBytes, 3 * partBytes])("with %i bytes", async (bytes) => {
    await laptop.write("a.bin", content.subarray(0, bytes));
    expect((await copied("laptop:a.bin", "pi:size.bin")).status).toBe("done");
    expect(hex(await pi.read("size.bin"))).toBe(hex(content.subarray(0, bytes)));
  });

  it("between a node and the workspace, both ways, and within the workspace", async () => {
    await laptop.write("notes.md", content);
    expect((await copied("laptop:notes.md", "gsv:docs/notes.md")).status).toBe("done");
    expect(hex(await workspace("docs/notes.md"))).toBe(hex(content));
    expect((await copied("gsv:docs/notes.md", "pi:notes.md")).status).toBe("done");
    expect(hex(await pi.read("notes.md"))).toBe(hex(content));
    expect((await copied("gsv:docs/notes.md", "gsv:/copy.md")).status).toBe("done");
    expect(hex(await workspace("copy.md"))).toBe(hex(content));
    expect(await bench.parts()).toEqual([]);
  });

  it("to and from the machine of the client that asks", async () => {
    const path = await cli.write("up.bin", content);
    await cli.start(undefined, { only: { sent: path, received: join(cli.folder, "down.bin") } });
    expect((await copied(`:${path}`, "pi:up.bin")).status).toBe("done");
    expect((await copied("pi:up.bin", `:${join(cli.folder, "down.bin")}`)).status).toBe("done");
    expect(hex(await cli.read("down.bin"))).toBe(hex(content));
    expect(await copied("pi:up.bin", `:${path}`)).toMatchObject({
      status: "failed",
      error: `this machine: ${path} may not be received; \`gsv cp\` did not name it`,
    });
  });
});

describe("a machine that is killed goes on when it is back", () => {
  const files = { laptop: () => laptop, pi: () => pi };

  it.each(["laptop", "pi"] as const)("at every call of %s, with the whole file or none", async (name) => {
    await laptop.write("a.bin", content);
    const machine = files[name]();
    let kills = 0;
    for (let left = 1; ; left++) {
      await pi.write("b.bin", Buffer.from("old"));
      await machine.start({ left });
      await begin("laptop:a.bin", "pi:b.bin");
      const isDone = async () => (await status()).status === "done";
      await until(async () => machine.isKilled() || (await isDone()), "it is killed, or the file is there");
      await machine.settled();
      if (!machine.isKilled()) break;
      kills++;
      expect([Buffer.from("old"), content].map(hex)).toContain(hex(await pi.read("b.bin")));
      await machine.start();
      expect(await ended()).toMatchObject({ status: "done" });
      expect(hex(await pi.read("b.bin"))).toBe(hex(content));
      expect((await pi.files()).filter((file) => file.endsWith(".gsv-part"))).toEqual([]);
      expect(await bench.parts()).toEqual([]);
    }
    expect(kills).toBeGreaterThanOrEqual(20);
  });

  it("and does not store again what it had stored", async () => {
    await laptop.write("a.bin", content);
    await laptop.start({ left: 12 });
    await begin("laptop:a.bin", "pi:c.bin");
    await until(() => laptop.isKilled(), "the source is killed");
    const before = await bench.parts();
    expect(before.length).toBeGreaterThan(1);
    await laptop.start({ left: 6 });
    await until(() => laptop.isKilled(), "the source is killed again");
    expect((await bench.parts()).length).toBeGreaterThan(before.length);
    await laptop.start();
    expect((await ended()).status).toBe("done");
    const first = transferPartKey(transferId, 0);
    const puts = bench.bucket.requests.filter(({ operation, key }) => operation === "put" && key === first);
    expect(puts).toHaveLength(1);
  });

  it("but fails when it is not back within ten minutes, and then removes what it has", async () => {
    await laptop.write("a.bin", content);
    await pi.start({ left: 12 });
    await begin("laptop:a.bin", "pi:late.bin");
    await until(() => pi.isKilled(), "the destination is killed");
    expect((await pi.files()).some((file) => file.endsWith(".gsv-part"))).toBe(true);
    bench.world.clock.later += 11 * 60_000;
    expect(await status()).toMatchObject({ status: "failed", error: "pi made no progress for 10 minutes" });
    await pi.start();
    await until(async () => !(await pi.files()).some((file) => file.endsWith(".gsv-part")), "it is removed");
    expect(await pi.files()).not.toContain("late.bin");
    expect(await bench.parts()).toEqual([]);
  });

  it("a command that was killed and is given again goes on with its transfer", async () => {
    const path = await cli.write("up.bin", content);
    await pi.start({ left: 6 });
    await begin(`:${path}`, "pi:again.bin");
    const first = transferId;
    await until(() => pi.isKilled(), "the destination is killed");
    await cli.start();
    await pi.start();
    expect(await open(`:${path}`, "pi:again.bin")).toMatchObject({ transferId: first });
    expect((await ended()).status).toBe("done");
  });
});

describe("a transfer that cannot be is refused with the reason, and leaves nothing", () => {
  const failed = async (source: string, destination: string) => {
    const before = await pi.files();
    const { status: how, error } = await copied(source, destination);
    expect(how).toBe("failed");
    expect(await pi.files()).toEqual(before);
    expect(await bench.parts()).toEqual([]);
    return error;
  };

  it("of a folder, a file that is not there, and a device", async () => {
    await mkdir(join(laptop.folder, "folder"), { recursive: true });
    expect(await failed("laptop:folder", "pi:x")).toBe(`laptop: send: ${laptop.folder}/folder is a folder`);
    expect(await failed("laptop:none", "pi:x")).toBe(
      `laptop: send: ${laptop.folder}/none: no such file or folder`,
    );
    expect(await failed("laptop:/dev/null", "pi:x")).toBe("laptop: send: /dev/null is not a regular file");
    expect(await failed("gsv:none.md", "pi:x")).toBe("workspace file not found: none.md");
  });

  it("to a folder, to a place where no file can be, and to a disk without space", async () => {
    await laptop.write("a.bin", content);
    await pi.write("file", content);
    await mkdir(join(pi.folder, "taken"), { recursive: true });
    expect(await failed("laptop:a.bin", "pi:taken")).toBe(
      `pi: receive: ${pi.folder}/taken is a folder; name the file in it`,
    );
    expect(await failed("laptop:a.bin", "pi:file/x")).toMatch(/^pi: receive: .*file\/x: /);
    expect(await failed("laptop:a.bin", "pi:/proc/gsv/x")).toMatch(/^pi: receive: \/proc\/gsv\/x: /);
    await pi.start(undefined, { freeBytes: async () => size - 1 });
    expect(await failed("laptop:a.bin", "pi:x")).toBe(
      `pi: receive: ${pi.folder}/x: not enough space: the file has 4.4 KB, but only 4.4 KB are free`,
    );
  });

  it("to a workspace that does not take it: too large, an archive, a path outside", async () => {
    await truncate(await laptop.write("large", content), 100 * 1024 * 1024 + 1);
    expect(await failed("laptop:large", "gsv:large")).toBe(
      "gsv:large: the file has 100.1 MB; the limit for transfers from and to the workspace is 100 MB",
    );
    await expect(open("laptop:a.bin", "gsv:sessions/x.gz")).rejects.toMatchObject({ code: 400 });
    await expect(open("laptop:a.bin", "gsv:.git/HEAD")).rejects.toMatchObject({ code: 403 });
    await expect(open("laptop:a.bin", "gsv:../other/x")).rejects.toMatchObject({ code: 400 });
    await expect(open("a.bin", "gsv:x")).rejects.toMatchObject({ code: 400 });
  });

  it("of a file that changes while it is sent", async () => {
    await laptop.write("a.bin", content);
    await laptop.start({ left: 10 });
    await begin("laptop:a.bin", "pi:x");
    await until(() => laptop.isKilled(), "the source is killed");
    await laptop.write("a.bin", Buffer.from(randomBytesFrom(size, 2)));
    await laptop.start();
    expect(await ended()).toMatchObject({ status: "failed", error: expect.stringMatching(/^pi: .*SHA-256/) });
    expect(await pi.files()).not.toContain("x");
  });

  it("of which a part is damaged on the way, to a node and to the workspace", async () => {
    const { put } = bench.state.bucket;
    bench.state.bucket.put = async (key, body, options) => {
      const damaged = key.endsWith("/3") ? Buffer.alloc(partBytes) : body;
      return put(key, damaged, options);
    };
    try {
      await laptop.write("a.bin", content);
      await pi.write("kept.bin", Buffer.from("old"));
      expect(await failed("laptop:a.bin", "pi:kept.bin")).toMatch(/the SHA-256 differs/);
      expect(hex(await pi.read("kept.bin"))).toBe(hex(Buffer.from("old")));
      expect(await failed("laptop:a.bin", "gsv:damaged.bin")).toMatch(
        /the SHA-256 of the received file differs/,
      );
      expect(await workspace("damaged.bin")).toBeUndefined();
    } finally {
      bench.state.bucket.put = put;
    }
  });

  it.each([7, 8, 9, 10, 11])(
    "when the client cancels it after call %i of the source, and the destination drops what it has",
    async (left) => {
      await laptop.write("a.bin", content);
      await laptop.start({ left });
      await begin("laptop:a.bin", "pi:x");
      await until(() => laptop.isKilled(), "the source is killed");
      expect(await call("transfer.cancel", { transferId })).toMatchObject({
        status: "failed",
        error: "cancelled",
      });
      await until(
        async () => !(await pi.files()).some((file) => file.endsWith(".gsv-part")),
        "it is dropped",
      );
      await laptop.start();
      await laptop.settled();
      expect(await bench.parts()).toEqual([]);
      expect(await pi.files()).not.toContain("x");
    },
  );
});

describe("what others may do with a transfer", () => {
  it("nothing: neither look at it nor cancel it", async () => {
    await laptop.write("a.bin", content);
    await laptop.start({ left: 8 });
    await begin("laptop:a.bin", "pi:mine.bin");
    await until(() => laptop.isKilled(), "the source is killed");
    await expect(pi.request("transfer.status", { transferId })).rejects.toMatchObject({ code: 403 });
    const stranger = await bench.client("stranger");
    await stranger.start();
    for (const method of ["transfer.status", "transfer.cancel"] as const)
      await expect(stranger.request(method, { transferId })).rejects.toMatchObject({ code: 404 });
    await laptop.start();
    expect((await ended()).status).toBe("done");
  });

  it("a report without an id is refused in GSV's words, and one of an unknown transfer is accepted", async () => {
    for (const method of [
      "transfer.meta",
      "transfer.accept",
      "transfer.complete",
      "transfer.done",
    ] as const) {
      await expect(pi.request(method, {})).rejects.toMatchObject({
        code: 400,
        message: "transferId required",
      });
      expect(await pi.request(method, { transferId: 4_000_000_000 })).toEqual({ ok: true });
    }
  });
});
