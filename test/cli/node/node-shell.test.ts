import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../../support/until.ts";
import { processesNamed, uniqueSleep } from "./processes.ts";
import { toolBench } from "./tool-bench.ts";

const bench = toolBench();
const { call, put } = bench;

describe("Bash", () => {
  it("answers with the output, the exit code and the times of a command", async () => {
    const result = await call("Bash", { command: "echo out; echo err >&2; pwd" });
    expect(result).toMatchObject({
      status: "completed",
      sessionId: expect.any(String),
      exitCode: 0,
      signal: null,
      timedOut: false,
      truncated: false,
      workdir: bench.workspace,
    });
    expect(String(result.output).split("\n").sort()).toEqual(["", bench.workspace, "err", "out"].sort());
    expect(result).not.toHaveProperty("tail");
    expect(result.durationMs).toBe((result.endedAt as number) - (result.startedAt as number));
  });

  it("runs in the given folder, even outside of the workspace", async () => {
    put("inner/file", "");
    expect(await call("Bash", { command: "pwd", workdir: "inner" })).toMatchObject({
      output: `${join(bench.workspace, "inner")}\n`,
    });
    expect(await call("Bash", { command: "pwd", workdir: ".." })).toMatchObject({
      output: `${dirname(bench.workspace)}\n`,
    });
    expect(await call("Bash", { command: "pwd -P", workdir: "~" })).toMatchObject({ workdir: homedir() });
    await expect(call("Bash", { command: "pwd", workdir: "missing" })).rejects.toThrow(
      "missing: no such file or folder",
    );
  });

  it("reports a failing command as a result, not as an error", async () => {
    expect(await call("Bash", { command: "echo no; exit 3" })).toMatchObject({
      status: "failed",
      exitCode: 3,
      output: "no\n",
    });
    expect(await call("Bash", { command: "kill -9 $$" })).toMatchObject({
      status: "failed",
      exitCode: null,
      signal: "SIGKILL",
    });
  });

  it("is a login shell with an empty input and without the gateway's token", async () => {
    process.env.GSV_TOKEN = "secret-token";
    try {
      const result = await call("Bash", {
        command: 'shopt -q login_shell && echo login; cat; echo "[$GSV_TOKEN]"',
      });
      expect(result.output).toBe("login\n[]\n");
    } finally {
      delete process.env.GSV_TOKEN;
    }
  });

  it("kills the whole process group at the timeout", async () => {
    const sleep = uniqueSleep();
    const result = await call("Bash", { command: `${sleep} & ${sleep}; wait`, timeout: 1500 });
    expect(result).toMatchObject({ status: "failed", timedOut: true, exitCode: null, signal: "SIGTERM" });
    await until(() => processesNamed(sleep).length === 0, "the group is gone");
  });

  it("keeps the last 200,000 characters of a larger output", async () => {
    const result = await call("Bash", { command: "head -c 1500000 /dev/zero | tr '\\0' a; printf END" });
    expect(result.truncated).toBe(true);
    expect(String(result.output)).toHaveLength(200_000);
    expect(String(result.output).endsWith("aaaEND")).toBe(true);
  });

  it("never splits a character, in the pipe or at the limit", async () => {
    const result = await call("Bash", { command: "for i in $(seq 1 110000); do printf 😀; done; printf x" });
    const output = String(result.output);
    expect(output).toHaveLength(199_999);
    expect(/^(?:😀)+x$/u.test(output)).toBe(true);
  });

  it("answers although a background process holds the pipes, and kills that process with the node", async () => {
    const sleep = uniqueSleep();
    const result = await call("Bash", { command: `${sleep} & echo started` });
    expect(result).toMatchObject({ status: "completed", output: "started\n" });
    expect(processesNamed(sleep)).toHaveLength(1);
    await bench.sessions.stop();
    await until(() => processesNamed(sleep).length === 0, "it is gone");
    await expect(call("Bash", { command: "true" })).rejects.toThrow("the node is stopping");
  });

  it("answers at once with a session when it runs in the background, and reports the end", async () => {
    const result = await call("Bash", { command: "read line; echo got $line", background: true }, "call_bg");
    expect(result).toMatchObject({ status: "running", pid: expect.any(Number), workdir: bench.workspace });
    await call("Process", { action: "submit", sessionId: result.sessionId, data: "it" });
    await until(() => bench.ended.length === 1, "the end is reported");
    expect(bench.ended[0]).toMatchObject({
      callId: "call_bg",
      session: { exitCode: 0, status: "completed" },
    });
  });

  it("waits for yieldMs, and only then leaves the command in the background", async () => {
    const quick = await call("Bash", { command: "echo quick", yieldMs: 60_000 });
    expect(quick).toMatchObject({ status: "completed", output: "quick\n" });
    const slow = await call("Bash", { command: uniqueSleep(), yieldMs: 50 });
    expect(slow).toMatchObject({ status: "running", tail: "" });
    expect(await call("Process", { action: "list" })).toMatchObject({ count: 1 });
  });
});

describe("Process", () => {
  const start = async (command: string): Promise<unknown> =>
    (await call("Bash", { command, background: true })).sessionId;

  it("polls new output, writes to the command and sees it end", async () => {
    const sessionId = await start('while read line; do echo "<$line>"; [ "$line" = bye ] && exit 4; done');
    expect(await call("Process", { action: "poll", sessionId })).toMatchObject({
      status: "running",
      output: "",
    });
    expect(await call("Process", { action: "write", sessionId, data: "héllo\n" })).toMatchObject({
      bytes: 7,
    });
    const session = bench.sessions.get(sessionId as string)!;
    await until(() => session.output.text.length > 0, "it echoes");
    expect(await call("Process", { action: "poll", sessionId })).toMatchObject({ output: "<héllo>\n" });
    await call("Process", { action: "submit", sessionId, data: "bye" });
    await session.ended;
    expect(await call("Process", { action: "poll", sessionId })).toMatchObject({
      status: "failed",
      exitCode: 4,
      output: "<bye>\n",
      truncated: false,
    });
    await expect(call("Process", { action: "write", sessionId, data: "x" })).rejects.toThrow(
      "accepts no input",
    );
  });

  it("does not wait for a command that does not read its input", async () => {
    const sessionId = await start(uniqueSleep());
    const data = "x".repeat(1_000_000);
    expect(await call("Process", { action: "write", sessionId, data })).toMatchObject({
      status: "running",
      bytes: 1_000_000,
    });
  });

  it("shows lines of the output, by default the last ones", async () => {
    const sessionId = await start("seq 1 500");
    await bench.sessions.get(sessionId as string)!.ended;
    const last = await call("Process", { action: "log", sessionId });
    expect(last).toMatchObject({ offset: 300, lines: 200, totalLines: 500, truncated: false });
    expect(String(last.output).split("\n")[0]).toBe("301");
    expect(await call("Process", { action: "log", sessionId, offset: 2, limit: 2 })).toMatchObject({
      output: "3\n4",
      lines: 2,
    });
  });

  it("kills a command that ignores SIGTERM", async () => {
    const sleep = uniqueSleep();
    const sessionId = await start(`trap '' TERM; echo deaf; ${sleep}; ${sleep}`);
    const { output } = bench.sessions.get(sessionId as string)!;
    await until(() => output.text === "deaf\n" && processesNamed(sleep).length === 2, "it ignores SIGTERM");
    expect(await call("Process", { action: "kill", sessionId })).toMatchObject({
      status: "failed",
      signal: "SIGKILL",
    });
    await until(() => processesNamed(sleep).length === 0, "the group is gone");
  });

  it("kills a command with all its processes, and still lists it", async () => {
    const sleep = uniqueSleep();
    const sessionId = await start(`${sleep} & ${sleep}`);
    await until(() => processesNamed(sleep).length >= 2, "both run");
    expect(await call("Process", { action: "kill", sessionId })).toMatchObject({
      status: "failed",
      signal: "SIGTERM",
    });
    await until(() => processesNamed(sleep).length === 0, "both are gone");
    const list = await call("Process", { action: "list" });
    expect(list).toMatchObject({ count: 1, sessions: [{ sessionId, status: "failed", signal: "SIGTERM" }] });
  });
});
