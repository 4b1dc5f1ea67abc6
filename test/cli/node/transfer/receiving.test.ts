import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { callStorage } from "../../../../cli/gateway/large-payloads.ts";
import { FileTransfers } from "../../../../cli/node/transfer/file-transfers.ts";
import type { TransferGateway } from "../../../../cli/node/transfer/part-link.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { startStorage } from "../../gateway/storage-server.ts";

const content = Buffer.from("one two three");
const partBytes = 4;
const file = {
  ...{ transferId: 7, path: "secret.txt", size: content.byteLength, partBytes },
  sha256: createHash("sha256").update(content).digest("hex"),
};
const part = ".secret.txt.7.gsv-part";

let folder: string;
beforeEach(() => {
  folder = newFolder();
});
afterEach(() => vi.restoreAllMocks());

/**
 * A machine whose gateway gives these answers before each part is fetched.
 * @returns the machine, its reports, and the buffers of the parts
 */
function machine(beforePart: (part: number) => void) {
  const reports: unknown[] = [];
  const memory: unknown[] = [];
  const request = async (method: string, params: { part?: number }) => {
    if (method !== "transfer.part") return reports.push({ method, ...params });
    beforePart(params.part ?? 0);
    return { url: String(params.part), headers: {} };
  };
  const transfers = new FileTransfers({
    gateway: { request } as unknown as TransferGateway,
    base: folder,
    log: () => {},
    storage: async (url, _request, _limits, into = Buffer.alloc(0)) => {
      memory.push(into.buffer);
      const at = Number(url) * partBytes;
      return into.subarray(0, content.copy(into, 0, at, at + partBytes));
    },
  });
  return { transfers, reports, memory };
}

const modeOf = (name: string) => statSync(join(folder, name)).mode & 0o777;

it.each([
  ["the usual mode of a new file", undefined, 0o666 & ~process.umask()],
  ["the mode of the file that it replaces", 0o640, 0o640],
])("only the user can read a file until it is complete, then it has %s", async (_, old, mode) => {
  if (old !== undefined) {
    writeFileSync(join(folder, file.path), "old");
    chmodSync(join(folder, file.path), old);
  }
  const modes: number[] = [];
  const { transfers, reports } = machine(() => modes.push(modeOf(part)));
  transfers.handle("transfer.receive", file);
  await transfers.settled();
  modes.push(modeOf(part));
  transfers.handle("transfer.end", file);
  await transfers.settled();
  expect(reports).toContainEqual({ method: "transfer.done", transferId: 7, bytesWritten: file.size });
  expect(modes).toEqual(Array.from({ length: 5 }, () => 0o600));
  expect(modeOf(file.path)).toBe(mode);
  expect(readFileSync(join(folder, file.path))).toEqual(content);
});

it("a pause while a request waits for its retry keeps the received parts, and reports nothing", async () => {
  vi.spyOn(Math, "random").mockReturnValue(1);
  const { transfers, reports } = machine((number) => {
    if (number < 2) return;
    setImmediate(() => transfers.pause());
    throw new Error("the connection is lost");
  });
  transfers.handle("transfer.end", file);
  await transfers.settled();
  expect(readdirSync(folder)).toEqual([part]);
  expect(readFileSync(join(folder, part), "utf8")).toBe("one two ");
  expect(reports).toEqual([]);
});

it("all parts use one buffer", async () => {
  const { transfers, memory } = machine(() => {});
  transfers.handle("transfer.end", file);
  await transfers.settled();
  expect(memory).toHaveLength(4);
  expect(new Set(memory).size).toBe(1);
});

it("the storage's answer is read into the given buffer, and one that does not fit is an error", async () => {
  const storage = await startStorage();
  onTestFinished(() => storage.close());
  storage.objects.set("part", "x".repeat(200_000));
  const limits = { timeoutMs: 10_000, signal: new AbortController().signal };
  const fetchInto = (bytes: number, into = Buffer.alloc(bytes)) =>
    callStorage(storage.url("part"), { method: "GET" }, limits, into).then((body) => ({ body, into }));
  const { body, into } = await fetchInto(200_001);
  expect(body.buffer === into.buffer).toBe(true);
  expect(body.equals(Buffer.alloc(200_000, "x"))).toBe(true);
  await expect(fetchInto(199_999)).rejects.toThrow("more than 199999 bytes");
});
