import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { imageBytes } from "../../../support/images.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import {
  approval,
  assistant,
  type FakeGateway,
  type FakeMethod,
  startFakeGateway,
} from "../../fake-gateway.ts";
import { type GsvOptions, gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const sessionKey = "agent:main:main";
const run = (args: string[], options: GsvOptions = {}) =>
  gsv(["client", ...args], { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const answering = (send: FakeMethod) => {
  gateway.methods["chat.send"] = send;
};
/** A run that announces and makes a tool call, and then answers. */
const useTool: FakeMethod = ({ params: { runId, message }, emit }) => {
  const call = { id: "c1", name: "pi__Glob", arguments: { pattern: "*" } };
  emit("chat", { runId, sessionKey, state: "delta", text: "Let me", seq: 0, attempt: 1, step: 0 });
  emit("chat", { runId, sessionKey, state: "partial", message: assistant("Let me look.", [call]) });
  emit("tool.result", { runId, sessionKey, callId: "c1", tool: "pi__Glob", isError: false, preview: "a" });
  emit("chat", { runId, sessionKey, state: "final", message: assistant(`Answer to ${message}.`) });
  return { status: "started", runId };
};

const linesOf = (stdout: string): unknown[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

describe("gsv client with a message", () => {
  it("prints the answer, and nothing else, on standard output", async () => {
    answering(useTool);
    const { code, stdout, stderr } = await run(["one"]);
    expect(code).toBe(0);
    expect(stdout).toBe("Answer to one.\n");
    expect(stderr).toContain("Let me look.");
    expect(stderr).toContain("⏵ pi__Glob * ✓");
  });

  it("prints requests that wait for the owner, with the command that answers, on standard error", async () => {
    answering((request) => {
      request.emit("approval.requested", approval);
      return useTool(request);
    });
    const { stdout, stderr } = await run(["one"]);
    expect(stdout).toBe("Answer to one.\n");
    expect(stderr).toContain("gsv: may I use pi__Bash");
    expect(stderr).toContain(`gsv approvals allow ${approval.id}`);
  });

  it("uses the session of --session", async () => {
    answering(useTool);
    await run(["one", "--session", "agent:main:other"]);
    expect(gateway.requests[0]?.params).toMatchObject({ sessionKey: "agent:main:other", message: "one" });
  });

  it("fails when the run fails", async () => {
    answering(({ params: { runId }, emit }) => {
      emit("chat", { runId, sessionKey, state: "error", error: "LLM error: overloaded" });
      return { status: "started", runId };
    });
    expect(await run(["one"])).toMatchObject({ code: 1, stdout: "", stderr: "gsv: LLM error: overloaded\n" });
  });

  it("streams its steps as lines of JSON with --json, the result last", async () => {
    answering(useTool);
    const { stdout, stderr } = await run(["one", "--json"]);
    expect(linesOf(stdout)).toEqual([
      { type: "text", text: "Let me" },
      { type: "text", text: " look." },
      { type: "reply", text: "Let me look." },
      { type: "calling", callId: "c1", tool: "pi__Glob", args: { pattern: "*" } },
      {
        ...{ type: "tool", callId: "c1", tool: "pi__Glob", args: { pattern: "*" } },
        ...{ isError: false, preview: "a" },
      },
      { type: "text", text: "Answer to one." },
      { type: "reply", text: "Answer to one." },
      {
        ...{ type: "result", message: "one", status: "answered", text: "Answer to one." },
        runId: expect.any(String),
      },
    ]);
    expect(stderr).toContain("⏵ pi__Glob");
  });

  it("prints an error in the same JSON shape, whether the run fails or there is no gateway", async () => {
    answering(({ params: { runId }, emit }) => {
      emit("chat", { runId, sessionKey, state: "error", error: "LLM error: overloaded" });
      return { status: "started", runId };
    });
    const failed = await run(["one", "--json"]);
    expect(failed.code).toBe(1);
    expect(linesOf(failed.stdout).at(-1)).toMatchObject({
      ...{ type: "result", status: "failed", error: { code: "run", message: "LLM error: overloaded" } },
    });
    await gateway.close();
    const unreached = await run(["one", "--json"]);
    expect(linesOf(unreached.stdout)).toEqual([{ error: { code: 101, message: expect.any(String) } }]);
  });

  it("prints the response of a command, and of directives without a message", async () => {
    answering(({ params }) =>
      params.message === "/help"
        ? { status: "command", command: "help", response: "the list" }
        : { status: "directive-only", response: "Thinking level set to high" },
    );
    expect((await run(["/help"])).stdout).toBe("the list\n");
    expect((await run(["/think:high"])).stdout).toBe("Thinking level set to high\n");
  });

  it("reports in one line that no gateway answers", async () => {
    const { url } = gateway;
    await gateway.close();
    const { code, stderr } = await run(["one"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^gsv: cannot reach ${url}: .*\\n$`));
  });
});

describe("gsv client --lines", () => {
  it("sends each line after the previous answer", async () => {
    let open = 0;
    let most = 0;
    answering(({ params: { runId, message }, emit }) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open -= 1;
        emit("chat", { runId, sessionKey, state: "final", message: assistant(`re ${message}`) });
      }, 20);
      return { status: "started", runId };
    });
    const { code, stdout } = await run(["--lines"], { input: "one\n\n  two  \r\nthree" });
    expect({ code, stdout, most }).toEqual({ code: 0, stdout: "re one\nre two\nre three\n", most: 1 });
  });

  it("continues after a failed message, and fails at the end", async () => {
    answering(({ params: { runId, message }, emit }) => {
      if (message === "one") emit("chat", { runId, sessionKey, state: "error", error: "no" });
      else emit("chat", { runId, sessionKey, state: "final", message: assistant("yes") });
      return { status: "started", runId };
    });
    expect(await run(["--lines"], { input: "one\ntwo\n" })).toMatchObject({
      code: 1,
      stdout: "yes\n",
      stderr: "gsv: no\ngsv: /retry sends it again\n",
    });
  });

  it("sends a failed message again for the line /retry, and offers that with --json, too", async () => {
    let asked = 0;
    answering(({ params: { runId }, emit }) => {
      if (asked++ === 0) emit("chat", { runId, sessionKey, state: "error", error: "no" });
      else emit("chat", { runId, sessionKey, state: "final", message: assistant("yes") });
      return { status: "started", runId };
    });
    const { stdout, stderr } = await run(["--lines", "--json"], { input: "/retry\none\n/retry\n" });
    const results = linesOf(stdout).filter((line) => (line as { type: string }).type === "result");
    expect(results).toEqual([
      expect.objectContaining({ message: "one", status: "failed", retry: "/retry" }),
      expect.objectContaining({ message: "one", status: "answered", text: "yes" }),
    ]);
    expect(results[1]).not.toHaveProperty("retry");
    expect(stderr).toBe("gsv: nothing to send again: the last message was not stopped and did not fail\n");
  });

  it("accepts no message argument", async () => {
    expect(await run(["--lines", "hello"], { input: "one" })).toMatchObject({
      code: 2,
      stderr: "gsv: --lines reads messages from standard input; remove the message argument\n",
    });
    expect(gateway.requests).toEqual([]);
  });
});

describe("standard input of gsv client", () => {
  const messages = () => gateway.requests.map(({ params }) => (params as { message: string }).message);

  it("is appended to the message", async () => {
    answering(useTool);
    await run(["what is this?"], { input: "one\n\ntwo\r\n\n" });
    expect(messages()).toEqual(["what is this?\n\none\n\ntwo"]);
  });

  it.each(["", "\n"])("changes nothing when it is empty: %j", async (input) => {
    answering(useTool);
    await run(["/status"], { input });
    expect(messages()).toEqual(["/status"]);
  });

  it.each([[[]], [["-"]]])("is one message, no matter its lines: %j", async (args) => {
    answering(useTool);
    const { stdout } = await run(args, { input: "one\n\n  two  \r\nthree\n" });
    expect(messages()).toEqual(["one\n\n  two  \r\nthree"]);
    expect(stdout).toMatch(/^Answer to one/);
  });

  it.each([
    ["that is empty", "\n", "standard input is empty"],
    ["that is not text", "PK\u0003\u0000", "standard input is not text"],
  ])("%s is refused, and nothing is sent", async (_what, input, reason) => {
    const { code, stderr } = await run(["-"], { input });
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(gateway.requests).toEqual([]);
  });

  it("is not read at a terminal when there is a message", async () => {
    answering(useTool);
    await run(["hello"], { endless: true, isInteractive: true });
    expect(messages()).toEqual(["hello"]);
  });
});

describe("gsv client --image", () => {
  const folder = newFolder();
  const file = async (name: string, bytes: Uint8Array) => {
    await writeFile(join(folder, name), bytes);
    return name;
  };

  it("sends images with a message, with the type detected from their bytes", async () => {
    answering(useTool);
    const [png, jpeg] = [imageBytes("image/png"), imageBytes("image/jpeg")];
    const images = [await file("Grüße.png", png), await file("b.png", jpeg)];
    const options = images.flatMap((name) => ["--image", name]);
    const { code, stdout } = await run([...options, "what is this?"], { cwd: folder });
    expect([code, stdout]).toEqual([0, "Answer to what is this?.\n"]);
    expect(gateway.requests[0]?.params).toMatchObject({
      message: "what is this?",
      media: [
        { type: "image", mimeType: "image/png", filename: "Grüße.png", data: png.toString("base64") },
        { type: "image", mimeType: "image/jpeg", filename: "b.png", data: jpeg.toString("base64") },
      ],
    });
  });

  it.each([
    ["without a message", ["--image", "a.png"], "standard input is empty"],
    ["for lines of standard input", ["--image", "a.png", "--lines"], "--image needs a message"],
    ["that is none", ["--image", "note.png", "look"], "note.png is not an image in a supported format"],
    [
      "of more than 25 MB",
      ["--image", "huge.png", "look"],
      "huge.png has 25.1 MB; the limit for attachments is 25 MB",
    ],
    ["that is not there", ["--image", "none.png", "look"], "no such file"],
  ])("refuses one %s, and sends nothing", async (_what, args, reason) => {
    await file("a.png", imageBytes());
    await file("note.png", Buffer.from("just text"));
    await file("huge.png", imageBytes());
    await truncate(join(folder, "huge.png"), 25 * 1024 * 1024 + 1);
    const { code, stderr } = await run(args, { cwd: folder });
    expect(code).not.toBe(0);
    expect(stderr).toContain(reason);
    expect(gateway.requests).toEqual([]);
  });
});
