import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfigFile } from "../../cli/app/config-file.ts";
import { main } from "../../cli/app/main.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { assistant, type FakeGateway, startFakeGateway } from "./fake-gateway.ts";
import { type FakeTerminal, fakeTerminal } from "./fake-terminal.ts";

let gateway: FakeGateway;
let home: string;
let terminal: FakeTerminal;
const sees = (text: string) => expect.poll(() => terminal.written()).toContain(text);
const file = () => readConfigFile(join(home, ".config/gsv/config.toml"));

beforeEach(async () => {
  gateway = await startFakeGateway({
    "config.set": ({ params }) => ({ ok: true, path: params.path }),
    "session.reset": ({ params }) => ({ ok: true, sessionKey: params.sessionKey, newSessionId: "id-2" }),
  });
  home = newFolder();
  terminal = fakeTerminal({ HOME: home }, home);
});
afterEach(() => gateway.close());

const signedIn = () => ["--url", gateway.url, "--token", "good-token"];

describe("gsv init at a terminal", () => {
  it("asks for what it needs, tests it, and does not show the token", async () => {
    const ended = main(["init"], terminal);
    await sees("Gateway url");
    terminal.type(`${gateway.url}\r`);
    await sees("Token (not shown)");
    terminal.type("good-token\r");
    await sees("Name of this machine's node [");
    terminal.type("desk\r");
    expect(await ended).toBe(0);
    expect(terminal.written()).not.toContain("good-token");
    expect(await file()).toEqual({
      gateway: { url: gateway.url, token: "good-token" },
      node: { id: "desk" },
    });
  });

  it("offers the existing settings", async () => {
    const first = main(["init", ...signedIn()], terminal);
    await sees("Name of this machine's node [");
    terminal.type("desk\r");
    await first;
    terminal = fakeTerminal({ HOME: home }, home);
    const again = main(["init"], terminal);
    await sees(`Gateway url (wss://…) [${gateway.url}]`);
    terminal.type("\r");
    await sees("Token (empty: keep)");
    terminal.type("\r");
    await sees("node [desk]");
    terminal.type("\r");
    expect(await again).toBe(0);
    expect(await file()).toEqual({
      gateway: { url: gateway.url, token: "good-token" },
      node: { id: "desk" },
    });
  });

  it("saves settings that do not work only after a confirmation", async () => {
    const ended = main(["init", "--url", gateway.url, "--token", "wrong", "--node-id", "desk"], terminal);
    await sees("Save it anyway? [y/N]");
    terminal.type("n\r");
    expect(await ended).toBe(1);
    expect(await file()).toEqual({});
  });

  it("ends on Ctrl-C without writing anything", async () => {
    const ended = main(["init"], terminal);
    await sees("Gateway url");
    terminal.type("\u0003");
    expect(await ended).toBe(1);
    expect(await file()).toEqual({});
  });
});

describe("questions at a terminal", () => {
  it("read a secret without showing it", async () => {
    const ended = main(["config", "set", "apiKeys.anthropic", ...signedIn()], terminal);
    await sees("apiKeys.anthropic (not shown)");
    terminal.type("sk-secret\r");
    expect(await ended).toBe(0);
    expect(gateway.requests[0]?.params).toEqual({ path: "apiKeys.anthropic", value: "sk-secret" });
    expect(terminal.written()).not.toContain("sk-secret");
  });

  it.each([
    ["y", 1],
    ["", 0],
    ["no", 0],
  ])("reset a session after %j: %i times", async (answer, times) => {
    const ended = main(["session", "reset", ...signedIn()], terminal);
    await sees("Clear the messages of agent:main:main? [y/N]");
    terminal.type(`${answer}\r`);
    expect(await ended).toBe(0);
    expect(gateway.requests).toHaveLength(times);
  });
});

describe("gsv client with a message at a terminal", () => {
  it("streams the answer, and prints it once", async () => {
    gateway.methods["chat.send"] = ({ params: { runId }, emit }) => {
      const base = { runId, sessionKey: "agent:main:main" };
      emit("chat", { ...base, state: "delta", text: "Good ", seq: 0, attempt: 1, step: 0 });
      emit("chat", { ...base, state: "delta", text: "morn", seq: 1, attempt: 1, step: 0 });
      emit("chat", { ...base, state: "final", message: assistant("Good morning") });
      return { status: "started", runId };
    };
    expect(await main(["client", "hi", ...signedIn()], terminal)).toBe(0);
    expect(terminal.screen().filter((row) => row !== "")).toEqual(["Good morning"]);
  });
});
