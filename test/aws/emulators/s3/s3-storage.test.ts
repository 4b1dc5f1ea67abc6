import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { DeleteObjectCommand, HeadObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PortInUseError } from "../../../../local/http/http-endpoint.ts";
import { commitObject, openObject, openStore, removeObject } from "../../../../local/objects/object-files.ts";
import { stage } from "../../../../local/objects/staging.ts";
import { bundleProgram } from "../../../support/run/bundle-program.ts";
import { until } from "../../../support/until.ts";
import { startS3At } from "../support.ts";
import { Bucket, failure, rawRequest, S3Fixture, signed } from "./s3-fixture.ts";

let s3: S3Fixture;
beforeEach(async () => {
  s3 = new S3Fixture();
  await s3.start();
});
afterEach(() => s3.end());

const remove = (Key: string) => s3.client.send(new DeleteObjectCommand({ Bucket, Key }));
const body = (path: string) => readFile(join(s3.dir, Bucket, path), "utf8");
const record = async (path: string) =>
  JSON.parse(await readFile(join(s3.dir, ".metadata", Bucket, `${path}.json`), "utf8"));
const tree = async (folder: string) => (await readdir(join(s3.dir, folder), { recursive: true })).sort();

describe("on disk", () => {
  it("an object lies where a person looks for it, its metadata in the same place of another tree", async () => {
    const more = { ContentType: "text/markdown", Metadata: { sessionkey: "agent:main:cli" } };
    await s3.client.send(
      new PutObjectCommand({ Bucket, Key: "agents/main/SOUL.md", Body: "# Soul", ...more }),
    );
    await s3.put("media/agent:main:cli/1.png");
    expect(await body("agents/main/SOUL.md")).toBe("# Soul");
    expect(await record("agents/main/SOUL.md")).toMatchObject({
      key: "agents/main/SOUL.md",
      size: 6,
      headers: { "content-type": "text/markdown" },
      metadata: { sessionkey: "agent:main:cli" },
    });
    expect(await tree(Bucket)).toContain("media/agent:main:cli/1.png");
    expect(await s3.staged()).toEqual([]);
  });

  it("only the owner can enter the folder, also one of an earlier version that others could", async () => {
    const mode = async () => (await stat(s3.dir)).mode & 0o777;
    await chmod(s3.dir, 0o755);
    await openStore(s3.dir, [Bucket]);
    expect(await mode()).toBe(0o700);
  });

  it("a key and the keys that begin with it have a place each", async () => {
    for (const key of ["a", "a/b", "a/b.c", "a/b.c/d.e"]) await s3.put(key, key);
    expect(await tree(Bucket)).toEqual(["a", "a%", "a/b%", "a/b.c", "a/b.c%%", "a/b.c%%/d.e"]);
  });

  it("no key leads out of its bucket's folder", async () => {
    for (const key of [
      "../out.txt",
      "../../out.txt",
      "..",
      ".",
      "a/../../../../out.txt",
      "/etc/x.txt",
      "..\\out.txt",
    ]) {
      await s3.put(key, key);
      expect(await s3.get(key)).toBe(key);
    }
    expect(await readdir(join(s3.dir, ".."))).toEqual(["storage"]);
    expect((await readdir(s3.dir)).sort()).toEqual(
      [".metadata", ".staging", ".uploads", Bucket, "other-bucket"].sort(),
    );
    for (const path of await tree(Bucket)) expect(path.split("/")).not.toContain("..");
  });

  it("deleting takes the folders along that are empty then, and only those", async () => {
    await s3.put("a/b/c.txt");
    await s3.put("a/d.txt");
    await remove("a/b/c.txt");
    expect(await tree(Bucket)).toEqual(["a", "a/d.txt"]);
    await remove("a/d.txt");
    expect(await tree(Bucket)).toEqual([]);
    expect(await tree(`.metadata/${Bucket}`)).toEqual([]);
  });

  it("folders that come and go under many writers never make a write fail", async () => {
    const store = await openStore(join(s3.dir, "store"), [Bucket]);
    const churn = Array.from({ length: 16 }, async (_, i) => {
      const target = { bucket: Bucket, key: `a/${i % 3}/${i}.txt`, condition: {} };
      for (let round = 0; round < 60; round += 1) {
        const staged = await stage(store, Readable.from([Buffer.from(`${round}`)]), []);
        await commitObject(store, target, staged, { etag: '"0"', headers: {}, metadata: {} });
        const found = await openObject(store, Bucket, target.key);
        expect(await found?.body.readFile("utf8")).toBe(`${round}`);
        await found?.body.close();
        expect(await readFile(join(store.root, Bucket, target.key), "utf8")).toBe(`${round}`);
        await removeObject(store, Bucket, target.key);
      }
    });
    await Promise.all(churn);
    expect(await tree(`store/${Bucket}`)).toEqual([]);
  });
});

describe("a restart", () => {
  it("finds objects with everything that was stored of them", async () => {
    const more = { ContentType: "text/markdown", CacheControl: "no-cache", Metadata: { a: "1" } };
    await s3.client.send(new PutObjectCommand({ Bucket, Key: "kept/SOUL.md", Body: "# Soul", ...more }));
    const head = () =>
      s3.client.send(new HeadObjectCommand({ Bucket, Key: "kept/SOUL.md", ChecksumMode: "ENABLED" }));
    const { $metadata: _, ...before } = await head();
    await s3.restart();
    const { $metadata: __, ...after } = await head();
    expect(after).toEqual(before);
    expect(after).toMatchObject(more);
    expect(await s3.get("kept/SOUL.md")).toBe("# Soul");
  });

  it("removes what a killed process was writing, and finishes what it had decided", async () => {
    await s3.put("decided.txt", "decided");
    await s3.stop();
    const { id } = await record("decided.txt");
    await rename(join(s3.dir, Bucket, "decided.txt"), join(s3.dir, ".staging", id));
    await writeFile(join(s3.dir, Bucket, "decided.txt"), "an older body");
    await writeFile(join(s3.dir, ".staging", "half-written"), "half");
    await writeFile(join(s3.dir, ".staging", "half-written.json"), '{"key":');
    await s3.start();
    expect(await s3.staged()).toEqual([]);
    expect(await s3.get("decided.txt")).toBe("decided");
    expect(await body("decided.txt")).toBe("decided");
  });

  it("on a port that is taken, or with a name no bucket can have, is refused", async () => {
    const dir = join(s3.dir, "another");
    await expect(startS3At({ dir, buckets: [Bucket], port: s3.server.port })).rejects.toBeInstanceOf(
      PortInUseError,
    );
    for (const bucket of ["..", "a/b", ".staging", "UPPER", ""]) {
      await expect(startS3At({ dir, buckets: [bucket] })).rejects.toThrow("not a bucket name");
    }
  });
});

describe("when the disk refuses", () => {
  it("a write, the answer is InternalError, the old object stays, and the server goes on", async () => {
    await s3.put("a.txt", "old");
    await rm(join(s3.dir, ".staging"), { recursive: true });
    await writeFile(join(s3.dir, ".staging"), "not a folder");
    expect(await failure(s3.put("a.txt", "new"))).toEqual({ name: "InternalError", status: 500 });
    expect(await failure(s3.put("b.txt", "x".repeat(5_000_000)))).toEqual({
      name: "InternalError",
      status: 500,
    });
    await rm(join(s3.dir, ".staging"));
    await mkdir(join(s3.dir, ".staging"));
    expect(await s3.get("a.txt")).toBe("old");
    await s3.put("a.txt", "new");
    expect(await s3.get("a.txt")).toBe("new");
  });

  it("the rest of a body, the client gets an error, no part remains, and the server continues", async () => {
    const program = await bundleProgram(new URL("../fixtures/s3-process.ts", import.meta.url));
    await s3.stop();
    // The system refuses to let any file of this process grow over 2 MB, as it does when a disk is full.
    const command = `ulimit -f 4096 && exec "${process.execPath}" "${program}" "${s3.dir}"`;
    const child = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "inherit"] });
    const [port] = await once(child.stdout, "data");
    const put = (key: string, size: number) =>
      rawRequest(Number(port), "PUT", `/${Bucket}/${key}`, signed, Buffer.alloc(size));
    expect((await put("small.bin", 1000)).status).toBe(200);
    expect(await put("big.bin", 20_000_000)).toMatchObject({ status: 500, code: "InternalError" });
    expect(await s3.staged()).toEqual([]);
    expect((await put("small.bin", 2000)).status).toBe(200);
    child.kill();
    await once(child, "exit");
    await s3.start();
    expect(await s3.get("small.bin")).toHaveLength(2000);
    expect((await failure(s3.get("big.bin"))).name).toBe("NoSuchKey");
  });

  it("the record of an object, nothing of the new one is seen or left", async () => {
    await s3.put("a.txt", "old");
    await writeFile(join(s3.dir, ".metadata", Bucket, "folder"), "not a folder");
    expect(await failure(s3.put("folder/b.txt", "new"))).toEqual({ name: "InternalError", status: 500 });
    expect(await s3.staged()).toEqual([]);
    expect(await s3.get("a.txt")).toBe("old");
  });

  it("the readable place of a body, the object is there all the same", async () => {
    await mkdir(join(s3.dir, Bucket, "taken.txt", "by a folder"), { recursive: true });
    await s3.put("taken.txt", "first");
    await s3.put("taken.txt", "second");
    expect(await s3.get("taken.txt")).toBe("second");
    await s3.restart();
    expect(await s3.get("taken.txt")).toBe("second");
    expect(await s3.staged()).toHaveLength(1);
    await remove("taken.txt");
    expect(await s3.staged()).toEqual([]);
    expect((await failure(s3.get("taken.txt"))).name).toBe("NoSuchKey");
  });

  it("to give a body back as it was stored, the answer says so", async () => {
    await s3.put("edited.txt", "0123456789");
    await truncate(join(s3.dir, Bucket, "edited.txt"), 5);
    expect(await failure(s3.get("edited.txt"))).toEqual({ name: "InternalError", status: 500 });
    await rm(join(s3.dir, Bucket, "edited.txt"));
    expect(await failure(s3.get("edited.txt"))).toEqual({ name: "InternalError", status: 500 });
    await s3.put("edited.txt", "repaired");
    expect(await s3.get("edited.txt")).toBe("repaired");
  });
});

describe("a client that goes away", () => {
  it("in the middle of a body leaves no object and no file, and the server goes on", async () => {
    await s3.put("aborted.bin", "old");
    const headers = { ...signed, "content-length": "1000000" };
    const upload = httpRequest({ ...s3.target("PUT", "aborted.bin"), headers });
    upload.on("error", () => undefined);
    upload.write(Buffer.alloc(500_000));
    await until(async () => (await s3.stagedBytes()) === 500_000);
    upload.destroy();
    await until(async () => (await s3.staged()).length === 0);
    expect(await s3.get("aborted.bin")).toBe("old");
  });

  it("in the middle of an answer does not disturb the server", async () => {
    await s3.put("large.bin", Buffer.alloc(20_000_000));
    const download = httpRequest({ ...s3.target("GET", "large.bin"), headers: signed }).end();
    const [answer] = await once(download, "response");
    await once(answer, "data");
    answer.destroy();
    await s3.put("next.txt", "next");
    expect(await s3.get("next.txt")).toBe("next");
  });

  it("because the server closes leaves nothing half done either", async () => {
    const headers = { ...signed, "content-length": "1000000" };
    const upload = httpRequest({ ...s3.target("PUT", "closing.bin"), headers });
    const broken = once(upload, "error");
    upload.write(Buffer.alloc(500_000));
    await until(async () => (await s3.stagedBytes()) === 500_000);
    await s3.stop();
    await broken;
    expect(await s3.staged()).toEqual([]);
    await s3.start();
    expect((await failure(s3.get("closing.bin"))).name).toBe("NoSuchKey");
    expect((await stat(join(s3.dir, Bucket))).isDirectory()).toBe(true);
  });
});
