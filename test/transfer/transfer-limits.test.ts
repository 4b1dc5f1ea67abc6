import { randomInt } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseParams } from "../../shared/protocol/methods.ts";
import type { TransferStatus } from "../../shared/protocol/results.ts";
import { beginTransfer } from "../../shared/transfer/transfer.ts";
import { parseEnds } from "../../shared/transfer/transfer-endpoint.ts";
import { until } from "../support/until.ts";
import { type Machine, openTransferBench, type TransferBench } from "./transfer-bench.ts";

let bench: TransferBench;
let laptop: Machine;
let pi: Machine;
let cli: Machine;

beforeAll(async () => {
  bench = await openTransferBench();
  [laptop, pi, cli] = [await bench.node("laptop"), await bench.node("pi"), await bench.client()];
});
beforeEach(async () => {
  for (const machine of [laptop, pi, cli]) await machine.start();
});
afterAll(() => bench.close());

/** @returns the new transfer's id */
async function begin(source: string, destination: string): Promise<number> {
  const ends = parseEnds({ source, destination, agentId: "main", clientId: "cli" });
  const { tokenId } = (await bench.state.table.get({ pk: "PEER#client", sk: "cli" })) as { tokenId: string };
  const id = randomInt(2 ** 32);
  await beginTransfer(bench.outside, { id, ...ends, owner: { kind: "client", tokenId }, partBytes: 1000 });
  return id;
}

const status = async (transferId: number) =>
  (await cli.request("transfer.status", { transferId })) as TransferStatus;

async function copied(source: string, destination: string): Promise<TransferStatus> {
  const id = await begin(source, destination);
  await until(async () => (await status(id)).status !== "running", "the transfer ends");
  return status(id);
}

describe("a file that prompts use", () => {
  it.each(["MEMORY.md", "skills/x/SKILL.md"])(
    "is no larger than one that is written there: %s",
    async (path) => {
      const large = Buffer.alloc(2 * 1024 * 1024 + 1);
      await bench.bucket.put("agents/main/large", large);
      await laptop.write("large", large);
      const error = "the limit for files that prompts use is 2 MB";
      for (const [source, has] of [
        ["laptop:large", "the file has 2.1 MB; "],
        ["gsv:large", ""],
      ])
        expect(await copied(`${source}`, `gsv:${path}`)).toMatchObject({
          ...{ status: "failed", error: `gsv:${path}: ${has}${error}` },
        });
      expect(await bench.bucket.get(`agents/main/${path}`)).toBeUndefined();
      expect(await copied("gsv:large", "gsv:notes/large")).toMatchObject({ status: "done" });
    },
  );
});

describe("a skill that arrives", () => {
  it.each(["laptop:skill", "gsv:skill"])("has the nodes asked for its programs: from %s", async (source) => {
    const program = `program-${source.split(":")[0]}`;
    const skill = `---\ndescription: x\nmetadata: {gsv: {requires: {bins: [${program}]}}}\n---\nUse it.`;
    await laptop.write("skill", Buffer.from(skill));
    await bench.bucket.put("agents/main/skill", skill);
    expect((await copied(source, `gsv:skills/${program}/SKILL.md`)).status).toBe("done");
    const asked = () => JSON.stringify([...bench.world.posted.values()].flat());
    await until(() => asked().includes(`"bins":["${program}"`), "a node is asked");
  });
});

describe("a file's media type", () => {
  const mimeOf = (mime: string) => parseParams("transfer.meta", { transferId: 1, size: 1, mime }).mime;

  it.each(["text/plain", "text/plain; charset=utf-8", "application/vnd.x+json"])("is kept: %s", (mime) => {
    expect(mimeOf(mime)).toBe(mime);
  });

  it.each([
    "",
    "text",
    "text/html\r\nx-amz-acl: public-read",
    "text/html\n",
    'a/b; c="d"',
    `a/${"b".repeat(255)}`,
  ])("counts as none when it is not one: %j", (mime) => {
    expect(mimeOf(mime)).toBeUndefined();
  });
});
