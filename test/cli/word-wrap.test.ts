import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { columns, pairs } from "../../cli/app/columns.ts";
import { wrapWords } from "../../cli/app/terminal.ts";
import { assistant, type FakeGateway, startFakeGateway } from "./fake-gateway.ts";
import { gsv } from "./run-gsv.ts";

describe("a text on a narrower terminal", () => {
  it.each([
    ["a line that fits stays", "one two", 7, "one two"],
    ["a line is broken at a blank", "one two three", 8, "one two\nthree"],
    ["each line by itself", "one two three\n\nfour", 8, "one two\nthree\n\nfour"],
    ["rows keep the indentation", "  one two three", 10, "  one two\n  three"],
    ["rows of a list are aligned with its text", "- one two three", 10, "- one two\n  three"],
    ["a wide character takes two columns", "日本 日本 日本", 9, "日本 日本\n日本"],
  ])("%s", (_name, text, width, expected) => {
    expect(wrapWords(text, width)).toBe(expected);
  });

  it("never splits a word, which may be an address or a token", () => {
    const address = `https://example.com/${"x".repeat(40)}`;
    expect(wrapWords(`see ${address} now`, 20)).toBe(`see\n${address}\nnow`);
    expect(wrapWords(address, 20)).toBe(address);
  });

  it("is aligned with the value of a name, and with the last column of a table", () => {
    const lines = pairs([
      ["url", "wss://x"],
      ["webhook", "one two three four five"],
    ]);
    expect(wrapWords(lines, 24)).toBe("url      wss://x\nwebhook  one two three\n         four five");
    const table = columns(["ID", "WHAT"], [["abc", "one two three four five"]]);
    expect(wrapWords(table, 20)).toBe("ID   WHAT\nabc  one two three\n     four five");
  });

  it("is aligned with the line's indentation when its last column begins too far to the right", () => {
    expect(wrapWords("a name of many words  value and more", 24)).toBe(
      "a name of many words\nvalue and more",
    );
  });
});

describe("the command line at a terminal of 40 columns", () => {
  let gateway: FakeGateway;
  beforeEach(async () => {
    gateway = await startFakeGateway({
      "config.get": ({ params: { path } }) => ({
        path,
        value: "a value of several words that is long enough",
      }),
      "session.preview": () => ({
        ...{ sessionKey: "agent:main:main", sessionId: "id", messageCount: 1 },
        messages: [assistant("An answer of several words that is long enough to be broken.")],
      }),
    });
  });
  afterEach(() => gateway.close());
  const run = (args: string[], isTTY = true) =>
    gsv(args, { isTTY, columns: 40, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });

  it("wraps an answer, and an error, between words", async () => {
    const { stdout } = await run(["session", "preview"]);
    expect(stdout).toContain("\n  An answer of several words that is\n  long enough to be broken.\n");
    const { stderr } = await run(["session", "list", "--limit", "none"]);
    expect(stderr).toBe("gsv: --limit must be a whole number from\n1 to 1000, not none\n");
  });

  it("does not wrap values and output that is not for a terminal", async () => {
    const value = "a value of several words that is long enough\n";
    expect((await run(["config", "get", "systemPrompt"])).stdout).toBe(value);
    expect((await run(["session", "preview"], false)).stdout).toContain("long enough to be broken.");
  });
});
