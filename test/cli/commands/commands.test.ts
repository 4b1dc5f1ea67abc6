import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { newFolder } from "../../support/run/test-folders.ts";
import { type FakeGateway, type FakeMethod, startFakeGateway } from "../fake-gateway.ts";
import { type GsvOptions, gsv } from "../run-gsv.ts";

let gateway: FakeGateway;
const run = (args: string[], options: GsvOptions = {}) =>
  gsv(args, { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", ...options.env } });
const answers = (table: Record<string, FakeMethod>) => {
  gateway.methods = table;
};
const lastParams = () => gateway.requests.at(-1)?.params;

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

const day = Date.UTC(2026, 0, 2, 12);

describe("gsv tools", () => {
  const tool = {
    name: "laptop__Grep",
    description: "Searches files. Slowly.",
    inputSchema: { type: "object", properties: { pattern: { type: "string" }, limit: { type: "number" } } },
  };

  it("lists tools with the first sentence of their description", async () => {
    answers({ "tools.list": () => ({ tools: [tool] }) });
    expect((await run(["tools", "list"])).stdout).toMatch(/laptop__Grep {2}Searches files\.\n$/);
  });

  it("parses arguments by the tool's schema", async () => {
    answers({ "tools.list": () => ({ tools: [tool] }), "tool.invoke": () => ({ result: "found" }) });
    const { stdout } = await run([
      "tools",
      "call",
      "laptop__Grep",
      "pattern=42",
      "limit=3",
      "flag=true",
      "x=a=b",
    ]);
    expect(stdout).toBe("found\n");
    expect(lastParams()).toEqual({
      tool: "laptop__Grep",
      args: { pattern: "42", limit: 3, flag: true, x: "a=b" },
    });
  });

  it("accepts all arguments as JSON", async () => {
    answers({ "tools.list": () => ({ tools: [tool] }), "tool.invoke": () => ({ result: { a: 1 } }) });
    const { stdout } = await run(["tools", "call", "laptop__Grep", "--args", '{"pattern":"x"}', "--json"]);
    expect(JSON.parse(stdout)).toEqual({ result: { a: 1 } });
    expect(lastParams()).toEqual({ tool: "laptop__Grep", args: { pattern: "x" } });
  });

  it("accepts all arguments as JSON after the tool, as GSV's command line does", async () => {
    answers({ "tools.list": () => ({ tools: [tool] }), "tool.invoke": () => ({ result: "found" }) });
    expect((await run(["tools", "call", "laptop__Grep", '{"pattern":"a=b"}'])).stdout).toBe("found\n");
    expect(lastParams()).toEqual({ tool: "laptop__Grep", args: { pattern: "a=b" } });
  });

  it("shows a command's output unchanged, and an exit code other than 0", async () => {
    const result = { status: "failed", exitCode: 3, output: "no such thing\n" };
    answers({ "tools.list": () => ({ tools: [tool] }), "tool.invoke": () => ({ result }) });
    expect((await run(["tools", "call", "laptop__Grep"])).stdout).toBe("no such thing\n(exit 3)\n");
  });

  it.each([
    [["nothing"]],
    [["=x"]],
    [["--args", "[1]"]],
    [["--args", "{"]],
    [["{"]],
    [["pattern=x", "--args", "{}"]],
  ])("refuses arguments that are none: %j", async (args) => {
    answers({ "tools.list": () => ({ tools: [tool] }) });
    expect((await run(["tools", "call", "laptop__Grep", ...args])).code).toBe(2);
  });

  it("reports a tool that does not exist", async () => {
    answers({ "tools.list": () => ({ tools: [] }) });
    const { code, stderr } = await run(["tools", "call", "gone__Bash"]);
    expect(code).toBe(1);
    expect(stderr).toBe("gsv: there is no tool gone__Bash; `gsv tools list` shows all tools\n");
    answers({ "tools.list": () => ({ tools: [tool] }) });
    expect((await run(["tools", "call", "laptop__Grpe"])).stderr).toContain("(did you mean laptop__Grep?)");
  });
});

describe("gsv workspace", () => {
  it("lists folders and files", async () => {
    answers({ "workspace.list": () => ({ path: "", files: ["SOUL.md"], directories: ["memory"] }) });
    expect((await run(["workspace", "ls", "--agent", "main"])).stdout).toBe("memory/\nSOUL.md\n");
    expect(lastParams()).toEqual({ path: "", agentId: "main" });
  });

  it.each(["cat", "get"])("prints a file by %s", async (word) => {
    answers({ "workspace.read": () => ({ path: "SOUL.md", content: "# Soul\n", size: 7 }) });
    expect((await run(["workspace", word, "SOUL.md"])).stdout).toBe("# Soul\n");
  });

  it("writes a file from standard input, with every line break", async () => {
    answers({ "workspace.write": () => ({ path: "a.md", size: 7, written: true }) });
    await run(["workspace", "put", "a.md"], { input: "a\n\nb\n\n" });
    expect(lastParams()).toEqual({ path: "a.md", content: "a\n\nb\n\n" });
  });

  it("writes a file from a local one", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "local.md"), "from here");
    answers({ "workspace.write": () => ({ path: "a.md", size: 9, written: true }) });
    await run(["workspace", "put", "a.md", "local.md"], { cwd });
    expect(lastParams()).toEqual({ path: "a.md", content: "from here" });
  });

  it("reports a local file that does not exist", async () => {
    const { code, stderr } = await run(["workspace", "put", "a.md", "none.md"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/none\.md: no such file or folder\n$/);
  });

  it("fails when the file does not exist", async () => {
    answers({ "workspace.delete": ({ params }) => ({ path: params.path, deleted: params.path === "a.md" }) });
    expect((await run(["workspace", "rm", "a.md"])).code).toBe(0);
    expect((await run(["workspace", "rm", "b.md"])).code).toBe(1);
  });

  describe("edit", () => {
    const edit = (path: string, env: Record<string, string>) =>
      run(["workspace", "edit", path], { env, isInteractive: true });
    const editorThat = (script: string) => {
      const file = join(newFolder(), "editor.sh");
      writeFileSync(file, `#!/bin/sh\n${script}\n`);
      chmodSync(file, 0o755);
      return { EDITOR: file };
    };

    it("writes back what the editor changed", async () => {
      answers({
        "workspace.read": () => ({ path: "SOUL.md", content: "old", size: 3 }),
        "workspace.write": () => ({ path: "SOUL.md", size: 3, written: true }),
      });
      const { stdout } = await edit("SOUL.md", editorThat('printf " new" >> "$1"'));
      expect(lastParams()).toEqual({ path: "SOUL.md", content: "old new" });
      expect(stdout).toBe("saved SOUL.md\n");
    });

    it("is refused without a terminal, before an editor starts", async () => {
      const started = join(newFolder(), "started");
      const refused = await run(["workspace", "edit", "SOUL.md"], { env: editorThat(`touch ${started}`) });
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain("gsv workspace put SOUL.md < file");
      expect(existsSync(started)).toBe(false);
    });

    it("starts a file that does not exist", async () => {
      answers({
        "workspace.read": () => {
          throw new PeerError(404, "no such file");
        },
        "workspace.write": () => ({ path: "new.md", size: 1, written: true }),
      });
      await edit("new.md", editorThat('printf x > "$1"'));
      expect(lastParams()).toEqual({ path: "new.md", content: "x" });
    });

    it("writes nothing when nothing changed, or when the editor failed", async () => {
      answers({ "workspace.read": () => ({ path: "SOUL.md", content: "old", size: 3 }) });
      expect((await edit("SOUL.md", editorThat("true"))).stdout).toBe("SOUL.md is unchanged\n");
      const failed = await edit("SOUL.md", editorThat('echo y > "$1"; exit 1'));
      expect(failed.code).toBe(1);
      expect(gateway.requests.filter(({ method }) => method === "workspace.write")).toEqual([]);
    });

    it("keeps the text and overwrites nothing when another client changed the file meanwhile", async () => {
      let reads = 0;
      answers({ "workspace.read": () => ({ path: "a.md", content: reads++ ? "theirs" : "old", size: 3 }) });
      const { code, stderr } = await edit("a.md", editorThat('echo mine > "$1"'));
      expect(code).toBe(1);
      const kept = /your text is kept in (.*a\.md)\n.*changed at the gateway/s.exec(stderr)?.[1] ?? "";
      expect(readFileSync(kept, "utf8")).toBe("mine\n");
      rmSync(dirname(kept), { recursive: true });
    });
  });
});

describe("gsv token", () => {
  it("prints only the new token on standard output", async () => {
    const created = { id: "abc", name: "pi", scopes: ["client", "node"], createdAt: day, token: "gsv_abc_x" };
    answers({ "token.create": () => created });
    const { stdout, stderr } = await run(["token", "create", "pi", "--scopes", "client,node"]);
    expect(stdout).toBe("gsv_abc_x\n");
    expect(stderr).toContain("shown only once");
    expect(lastParams()).toEqual({ name: "pi", scopes: ["client", "node"] });
  });

  it("refuses an unknown scope before it asks the gateway", async () => {
    expect((await run(["token", "create", "pi", "--scopes", "root"])).code).toBe(2);
    expect(gateway.requests).toEqual([]);
  });

  it("lists tokens with their last use, and revokes one", async () => {
    const token = { id: "abc", name: "pi", scopes: ["node"], createdAt: day, connections: 0 };
    const used = { ...token, id: "def", lastUsedAt: day, connections: 2 };
    answers({
      "token.list": () => ({ tokens: [token, used] }),
      "token.revoke": ({ params }) => ({ revoked: true, id: params.id }),
    });
    const list = (await run(["token", "list"])).stdout;
    expect(list).toMatch(/\nabc {2}pi +node +2026-01-02 \d\d:\d\d {2}-\n/);
    expect(list).toMatch(/\ndef {2}pi +node +2026-01-02 \d\d:\d\d {2}now \(2 connections\)\n$/);
    expect((await run(["token", "revoke", "abc"])).stdout).toBe("revoked token abc\n");
  });
});

describe("gsv node forget", () => {
  const result = { ok: true, nodeId: "laptop", removed: true, disconnected: false };

  it("releases a node's id, and reports that", async () => {
    answers({ "node.forget": () => result });
    const { stdout } = await run(["node", "forget", "laptop"]);
    expect(stdout).toBe("any node token may now use the id laptop\n");
    expect(lastParams()).toEqual({ nodeId: "laptop", force: false });
  });

  it("disconnects a connected node with --force, and prints the result as JSON", async () => {
    answers({ "node.forget": () => ({ ...result, disconnected: true }) });
    const { stdout } = await run(["node", "forget", "laptop", "--force", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ ...result, disconnected: true });
    expect(lastParams()).toEqual({ nodeId: "laptop", force: true });
  });

  it("reports an id that belonged to no token", async () => {
    answers({ "node.forget": () => ({ ...result, removed: false }) });
    const { stdout } = await run(["node", "forget", "laptop"]);
    expect(stdout).toBe("the id laptop belonged to no token\n");
  });

  it("explains its purpose in its help", async () => {
    const { code, stdout } = await run(["node", "forget", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("release a node's id");
    expect(stdout).toContain("--force");
  });
});

describe("gsv token create", () => {
  it("reports a name in use, and what to do", async () => {
    const message = 'name: the token abc is already named "pi"; choose another name';
    answers({
      "token.create": () => {
        throw new PeerError(409, message);
      },
    });
    const { code, stderr } = await run(["token", "create", "pi"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe("gsv logs", () => {
  it("prints a node's lines", async () => {
    answers({ "logs.get": () => ({ nodeId: "pi", lines: ["one", "two"], count: 2, truncated: false }) });
    expect((await run(["logs", "--node", "pi", "--lines", "2"])).stdout).toBe("one\ntwo\n");
    expect(lastParams()).toEqual({ nodeId: "pi", lines: 2 });
  });

  it("says what to do when no node is connected", async () => {
    answers({
      "logs.get": () => {
        throw new PeerError(503, "no node is connected");
      },
    });
    const { code, stderr } = await run(["logs"]);
    expect(code).toBe(1);
    expect(stderr).toBe("gsv: no node is connected; start a node with `gsv node`, or try again\n");
  });
});

describe("gsv status", () => {
  it("shows the configuration, the gateway, and the connected nodes", async () => {
    const tool = { description: "", inputSchema: {} };
    const configured: Record<string, unknown> = {
      model: { provider: "anthropic", id: "m1" },
      channels: {
        telegram: {
          ...{ dmPolicy: "pairing", owners: ["5001"], allowFrom: ["5001", "5002"] },
          groups: { "-1001": { tools: "owner" } },
        },
        slack: { dmPolicy: "open" },
      },
    };
    answers({
      "tools.list": () => ({
        tools: [
          { name: "gsv__ReadFile", ...tool },
          { name: "pi__Bash", ...tool },
        ],
      }),
      "sessions.list": () => ({ sessions: [], count: 3 }),
      "config.get": ({ params: { path } }) => ({ path, value: configured[path] }),
    });
    const { code, stdout } = await run(["status", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      url: gateway.url,
      source: "GSV_URL",
      server: "9.9.9",
      nodes: ["pi"],
      tools: 2,
      sessions: 3,
      model: "anthropic/m1",
      channels: {
        telegram: { owners: ["5001"], guests: ["5002"], groups: { "-1001": "owner" } },
        slack: { owners: [], guests: [] },
      },
    });
    const shown = (await run(["status"])).stdout;
    expect(shown).toMatch(
      /telegram +pairing; owners: 5001; guests: 5002; groups: -1001 \(machines: owner\)\n/,
    );
    expect(shown).toMatch(/slack +open; owners: none; guests: everyone else\n/);
  });

  it("shows the configuration when no gateway answers", async () => {
    const { url } = gateway;
    await gateway.close();
    const { code, stdout, stderr } = await run(["status"]);
    expect(code).toBe(1);
    expect(stdout).toContain(url);
    expect(stderr).toMatch(/^gsv: cannot reach ws:.*\n$/);
  });

  it("reports a refused token, and where it may come from", async () => {
    const { code, stderr } = await run(["status"], { env: { GSV_TOKEN: "wrong" } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^gsv: .*refused.*check the token.*\n$/);
  });
});
