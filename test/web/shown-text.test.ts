import { expect, it } from "vitest";
import { requestText } from "../../cli/chat/request-text.ts";
import type { Approval } from "../../shared/protocol/approvals.ts";
import { callText, questionText, reasonLines } from "../../web/chat/shown-text.ts";
import { hostileTexts } from "./hostile-texts.ts";

const request = (text: string, args: Record<string, unknown>, node?: string): Approval => ({
  id: "abcdefghijklmnop",
  kind: "tool",
  state: "open",
  hash: "0".repeat(64),
  sessionKey: "agent:main:main",
  runId: "r",
  step: 1,
  callId: "c",
  tool: `Bash${text.slice(0, 3)}`,
  node,
  args,
  why: `because ${text}`,
  origins: text.length % 2 === 0 ? [] : [`web:${text}`],
  createdAt: 0,
  until: 1,
});

it("a request for approval has the same text on the page as in a terminal", () => {
  const hidden = [
    "rm -rf ~\u200b",
    "a\u202eb",
    "👩‍👩‍👧 1️⃣ ok",
    "\u{e0072}tag",
    "tab\tand\r\nline",
    "\u0007bell",
  ];
  for (const text of [...hostileTexts.slice(0, 200), ...hidden])
    for (const args of [{ command: text }, { command: text, timeout: 5 }, { path: text, deep: [text] }]) {
      const one = request(text, args, text.length % 3 === 0 ? "laptop" : undefined);
      const shown = [
        questionText(one),
        ...callText(one)
          .split("\n")
          .map((line) => `  ${line}`),
        ...reasonLines(one),
      ];
      expect(shown.join("\n")).toBe(requestText(one));
    }
});

it("a budget's request has the same text on the page as in a terminal", () => {
  const why = "Today's limit of $2.00 is reached: $1.90 used or reserved.";
  for (const [unit, amount] of [
    ["usd", 0],
    ["usd", 42_000],
    ["usd", 100_000],
    ["usd", 10_000_000],
    ["tokens", 2000],
  ] as const) {
    const amounts = { spent: 0, once: amount, run: 2 * amount, day: 3 * amount };
    const requester = { kind: "budget", ruleId: "day", why, unit, ...amounts } as const;
    const one: Approval = { ...request("", {}), kind: "budget", requester, why };
    const choices = callText(one).split("\n");
    const shown = [questionText(one), ...choices.map((line) => `  ${line}`), ...reasonLines(one)];
    expect(shown.join("\n")).toBe(requestText(one));
  }
});

it("a server's question has the same text on the page as in a terminal", () => {
  for (const message of ["Which branch?", "a\u202eb\nsecond line", ...hostileTexts.slice(0, 20)])
    for (const field of [undefined, "branch"]) {
      const requester = {
        kind: "mcp",
        why: "w",
        tool: "t__x",
        server: "s",
        message,
        keys: ["k"],
        field,
      } as const;
      const one: Approval = { ...request("", {}), kind: "mcp", requester: { ...requester, keys: ["k"] } };
      const choices = callText(one).split("\n");
      const shown = [questionText(one), ...choices.map((line) => `  ${line}`), ...reasonLines(one)];
      expect(shown.join("\n")).toBe(requestText(one));
    }
});
