import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newFolder } from "../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../fake-gateway.ts";
import { gsv } from "../run-gsv.ts";

let gateway: FakeGateway;
/** A folder with a running local gateway, and a folder two levels below it. */
let [top, below] = ["", ""];

beforeEach(async () => {
  gateway = await startFakeGateway({ "sessions.list": () => ({ sessions: [], count: 0 }) });
  top = newFolder();
  below = join(top, "a/b");
  mkdirSync(below, { recursive: true });
  writeGatewayFile(join(top, ".gsv"), gateway.url);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
});

function writeGatewayFile(folder: string, url: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "gateway.json"), JSON.stringify({ url, token: "good-token", pid: process.pid }));
}

const list = (cwd: string, ...args: string[]) => gsv(["session", "list", ...args], { cwd });

describe("the local gateway", () => {
  it("is found from a subfolder, without any message", async () => {
    const found = await list(below);
    expect(found).toMatchObject({ code: 0, stderr: "" });
    expect(found.stdout).toContain("no sessions yet");
  });

  it("is the nearest one", async () => {
    const nearer = await startFakeGateway({ "sessions.list": () => ({ sessions: [], count: 0 }) });
    writeGatewayFile(join(top, "a/.gsv"), nearer.url);
    expect((await list(below)).code).toBe(0);
    expect([gateway.requests.length, nearer.requests.length]).toEqual([0, 1]);
    await nearer.close();
  });

  it("is not found from a sibling folder, and a folder .gsv without a gateway is skipped", async () => {
    expect((await list(newFolder())).stderr).toContain("no gateway is configured");
    mkdirSync(join(below, ".gsv"));
    expect((await list(below)).code).toBe(0);
  });

  it("of another user is used only when it is named", async () => {
    const mine = process.getuid?.() ?? 0;
    vi.spyOn(process, "getuid").mockReturnValue(mine + 1);
    expect((await list(below)).stderr).toContain("no gateway is configured");
    expect((await list(top)).stderr).toContain("belongs to another user; to use it anyway, pass --data .gsv");
    expect(gateway.requests).toEqual([]);
    expect((await list(top, "--data", ".gsv")).code).toBe(0);
  });
});
