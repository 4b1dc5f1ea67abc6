import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { progressText } from "../../../../cli/commands/node/copy-command.ts";
import { type RunningNode, startNode } from "../../../../cli/node/node-runtime.ts";
import { type LocalGateway, startLocalGateway } from "../../../../local/in-process-gateway.ts";
import { createToken } from "../../../../shared/peers/tokens.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type GsvRun, gsv } from "../../run-gsv.ts";

let gateway: LocalGateway;
let node: RunningNode;
/** The folder of the node laptop, and the working directory of the command. */
let [there, here] = ["", ""];
let token = "";

beforeAll(async () => {
  gateway = await startLocalGateway({ dir: newFolder(), log: () => {} });
  ({ token } = await createToken(
    gateway.world.table,
    { name: "me", scopes: ["client", "node"] },
    Date.now(),
  ));
  [there, here] = [newFolder(), newFolder()];
  node = startNode({ url: gateway.ws, token, nodeId: "laptop", workspace: there, version: "0" });
  await node.connection.open();
});
afterAll(async () => {
  await node.stop();
  await gateway.close();
});

const cp = (args: string[], isTTY = false): Promise<GsvRun> =>
  gsv(["cp", ...args], { cwd: here, isTTY, env: { GSV_URL: gateway.ws, GSV_TOKEN: token } });

describe("gsv cp", () => {
  it("copies from this machine to a node and back, into folders by the source's name", async () => {
    writeFileSync(join(here, "a:b.txt"), "content");
    mkdirSync(join(here, "back"));
    expect(await cp(["./a:b.txt", "laptop:new/"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^copied \.\/a:b\.txt to laptop:new\/a:b\.txt: 7 bytes in [\d.]+ s\n$/),
      stderr: "",
    });
    expect(readFileSync(join(there, "new/a:b.txt"), "utf8")).toBe("content");
    const back = await cp(["laptop:new/a:b.txt", "back", "--json"]);
    expect(JSON.parse(back.stdout)).toMatchObject({ status: "done", size: 7, sent: 7, received: 7 });
    expect(readFileSync(join(here, "back/a:b.txt"), "utf8")).toBe("content");
  });

  it("copies more than one part, with its progress only on a terminal", async () => {
    const content = Buffer.alloc(17_000_000, "0123456789");
    writeFileSync(join(here, "large.bin"), content);
    const { code, stderr } = await cp(["large.bin", "laptop:large.bin"], true);
    expect(code).toBe(0);
    expect(stderr).toContain("requesting the file");
    expect(readFileSync(join(there, "large.bin")).equals(content)).toBe(true);
    expect((await cp(["laptop:large.bin", "copy.bin"])).stderr).toBe("");
    expect(readFileSync(join(here, "copy.bin")).equals(content)).toBe(true);
  });

  it("copies from and to the workspace", async () => {
    writeFileSync(join(here, "note.md"), "# note");
    expect((await cp(["note.md", "gsv:notes/"])).code).toBe(0);
    expect((await cp(["gsv:notes/note.md", "laptop:note.md"])).code).toBe(0);
    expect(readFileSync(join(there, "note.md"), "utf8")).toBe("# note");
  });

  it.each([
    [["none.txt", "laptop:x"], 1, "this machine: send: ", "no such file or folder"],
    [[".", "laptop:x"], 1, "this machine: send: ", "is a folder"],
    [["laptop:/etc", "x"], 1, "laptop: send: ", "is a folder"],
    [["gsv:none.md", "x"], 1, "workspace file not found: none.md", ""],
    [["gsv:none.md", "pi:x"], 1, "node not connected: pi", ""],
    [["note.md", "x"], 2, "one side must be a node (laptop:/path) or the workspace (gsv:path)", ""],
  ])("says why %j cannot be copied, and leaves nothing", async (args, code, ...words) => {
    const before = [readdirSync(here), readdirSync(there)];
    const run = await cp(args);
    expect(run).toMatchObject({ code, stdout: "" });
    for (const word of words) expect(run.stderr).toContain(word);
    expect([readdirSync(here), readdirSync(there)]).toEqual(before);
  });
});

describe("the progress of a copy", () => {
  it("counts a byte half when it is stored, and fully when it has arrived", () => {
    const size = 1024 ** 3;
    expect(progressText({ sent: 0, received: 0 }, 0)).toBe("requesting the file");
    expect(progressText({ sent: size / 2, received: 0, size }, 8 * 1024 ** 2)).toBe(
      "[######------------------] 25%  sent 512 MB of 1 GB  8 MB/s",
    );
    expect(progressText({ sent: size, received: size / 2, size }, 0)).toBe(
      "[##################------] 75%  received 512 MB of 1 GB",
    );
  });
});
