import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Context } from "../../../../cli/app/context.ts";
import { addSkill } from "../../../../cli/commands/skills/add-skill.ts";
import { updateSkill } from "../../../../cli/commands/skills/update-skill.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import {
  type ArchiveServer,
  gitArchive,
  startArchiveServer,
} from "../../../support/archives/archive-server.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { type FakeTerminal, fakeTerminal } from "../../fake-terminal.ts";

let server: ArchiveServer;
let gateway: FakeGateway;
/** The agent's files by path. */
let files: Map<string, Buffer>;

beforeEach(async () => {
  server = await startArchiveServer();
  files = new Map();
  gateway = await startFakeGateway({
    "skills.status": () => ({ agentId: "main", refreshedAt: 1, requiredBins: [], nodes: [], skills: [] }),
    "workspace.list": ({ params }) => ({
      path: params.path,
      files: [...files.keys()].filter((path) => path.startsWith(`${params.path}/`)),
      directories: [],
    }),
    "workspace.read": ({ params }) => {
      const body = files.get(params.path);
      if (!body) throw new PeerError(404, "workspace file not found");
      if (body.includes(0)) throw new PeerError(400, "path: is a binary file, not UTF-8 text");
      return { path: params.path, content: body.toString(), size: body.length, lastModified: "" };
    },
    "workspace.write": ({ params: { path, content, base64 } }) => {
      files.set(path, content === undefined ? Buffer.from(base64, "base64") : Buffer.from(content));
      return { path, size: 1, written: true };
    },
    "workspace.delete": ({ params }) => {
      files.delete(params.path);
      return { path: params.path, deleted: true };
    },
  });
});
afterEach(async () => {
  await gateway.close();
  await server.close();
});

const document = (steps: string) => `---\nname: tea\ndescription: makes tea\n---\n${steps}\n`;
const picture = Buffer.from([137, 80, 0, 1]);
const publish = (tree: Record<string, string | Uint8Array>) => {
  const { body, commit } = gitArchive(tree);
  server.archives.set("ann/tea/tar.gz/HEAD", body);
  return commit;
};
const stored = () =>
  [...files].map(([path, body]) => [path.replace("skills/tea/", ""), body.toString("latin1")]);

/** Runs an action at a terminal, and answers its question. */
async function at(
  action: (context: Context) => Promise<void>,
  answer = "y",
): Promise<FakeTerminal & { failure?: Error }> {
  const terminal = fakeTerminal({ GSV_URL: gateway.url, GSV_TOKEN: "good-token" }, newFolder());
  const context = new Context(terminal, {});
  const ended = action(context).then(
    () => undefined,
    (error: Error) => error,
  );
  await expect
    .poll(async () => (await Promise.race([ended, true])) !== true || terminal.written().includes("[y/N]"))
    .toBe(true);
  terminal.type(`${answer}\r`);
  const failure = await ended;
  await context.close();
  return failure ? { ...terminal, failure } : terminal;
}

const add = (answer?: string) =>
  at((context) => addSkill(context, { args: ["ann/tea"], options: {} }, server.fetchGuarded), answer);
const update = (answer?: string) =>
  at(
    (context) =>
      updateSkill(context, { args: [], options: {} }, { agentId: "main", name: "tea" }, server.fetchGuarded),
    answer,
  );

describe("a skill of an address", () => {
  it("is installed with its pictures as they are, and pinned to its commit and the hash of its files", async () => {
    const commit = publish({ "SKILL.md": document("Boil."), "a.png": picture, "b.sh": "#!/bin/sh\n" });
    const terminal = await add();
    expect(terminal.written()).toContain("installed tea for the agent main");
    expect([...files.keys()].at(-1), "the last file").toBe("skills/tea/SKILL.md");
    expect(files.get("skills/tea/a.png")).toEqual(picture);
    expect(JSON.parse(String(files.get("skills/tea/.source.json")))).toEqual({
      source: "ann/tea",
      commit,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      files: { "SKILL.md": expect.any(String), "a.png": expect.any(String), "b.sh": expect.any(String) },
    });
  });

  it("is updated after its changes were shown: only what changed is written", async () => {
    publish({ "SKILL.md": document("Boil.\nWait."), "a.png": picture, "old.md": "x", "same.md": "same" });
    await add();
    files.set("skills/tea/same.md", Buffer.from("edited by the agent"));
    expect((await update()).written()).toContain("tea is up to date (ann/tea)");
    const commit = publish({
      "SKILL.md": document("Boil.\nWait\u200b longer."),
      "a.png": Buffer.from([137, 80, 0, 2, 3]),
      "same.md": "same",
      "new.md": "new\n",
    });
    const hidden = await update();
    expect(hidden.written()).toContain("+Wait⟨U+200B⟩ longer.");
    expect(hidden.failure?.message).toContain("characters that you cannot see are in SKILL.md");

    const next = publish({
      "SKILL.md": document("Boil.\nWait longer."),
      "a.png": Buffer.from([137, 80, 0, 2, 3]),
      "same.md": "same",
      "new.md": "new\n",
    });
    expect(next).not.toBe(commit);
    const before = stored();
    const refused = await update("n");
    expect(refused.failure?.message).toBe("nothing was written");
    expect(stored()).toEqual(before);
    for (const line of ["-Wait.", "+Wait longer.", "+new", "a.png: not text, now 5 bytes", next, "-x"])
      expect(refused.written()).toContain(`\n${line}`.slice(line === next ? 1 : 0));
    const done = await update();
    expect(done.written()).toContain("updated tea for the agent main (4 files)");
    expect([...files.keys()].sort()).toEqual(
      [".source.json", "SKILL.md", "a.png", "new.md", "same.md"].map((path) => `skills/tea/${path}`),
    );
    expect(String(files.get("skills/tea/same.md"))).toBe("edited by the agent");
    expect(String(files.get("skills/tea/SKILL.md"))).toContain("Wait longer.");
    expect(JSON.parse(String(files.get("skills/tea/.source.json"))).commit).toBe(next);
  });

  it("that was written here is not updated, and the error says what to do", async () => {
    files.set("skills/tea/SKILL.md", Buffer.from(document("Boil.")));
    const { failure } = await update();
    expect(failure?.message).toContain("`gsv skills add SOURCE --name tea`");
  });
});
