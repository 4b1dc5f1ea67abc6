import { describe, expect, it } from "vitest";
import {
  memoriesPrompt,
  readMemories,
  readSummary,
  renderConversation,
  summaryPrompt,
} from "../../../functions/agent/compaction/compaction-prompts.ts";
import { requestAmong, writeSummary } from "../../../functions/agent/compaction/summarize.ts";
import { shorten } from "../../../functions/agent/context/shorten.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { readSummaryMessage, summaryMessage } from "../../../shared/session/summary-message.ts";
import { assistant, result, user } from "./transcripts.ts";

describe("a model's answer", () => {
  it.each([
    ["<summary>All is well.</summary>", "All is well."],
    ["Sure!\n<summary>\nAll is well.\n</summary>\n<memories>- x</memories>", "All is well."],
    ["<summary>All is w", "All is w"],
    ["<summary>All is well.\n<memories>- x</memories>", "All is well."],
    ["All is well.\n<memories>- x</memories>", "All is well."],
    ["<summary></summary>", undefined],
    ["", undefined],
    ["<memories>- x</memories>", undefined],
  ])("as %j is the summary %j", (answer, summary) => {
    expect(readSummary(answer)).toBe(summary);
  });

  it.each([
    ["<memories>- likes tea\n- Oslo in May</memories>", "- likes tea\n- Oslo in May"],
    ["<summary>s</summary>\n<memories>\n- likes tea\n</memories>", "- likes tea"],
    ["<memories>- likes te", "- likes te"],
    ["<memories></memories>", undefined],
    ["<memories>None.</memories>", undefined],
    ["<memories>- (nothing)</memories>", undefined],
    ["- likes tea", undefined],
    ["", undefined],
  ])("as %j are the memories %j", (answer, memories) => {
    expect(readMemories(answer)).toBe(memories);
  });
});

describe("a request for a summary", () => {
  it("shows authors and texts, calls and their results, and never an image's bytes", () => {
    const picture: Message = {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image", mimeType: "image/png", data: "QUJD", r2Key: "media/x" },
      ],
      timestamp: 1,
    };
    expect(renderConversation([picture, assistant("I look.", "a"), result("a", "done")], "UTC")).toBe(
      "[user, Friday 1970-01-02 00:00]\nlook\n(an image, image/png)\n\n" +
        '[assistant, Friday 1970-01-02 00:00]\nI look.\n(calls Bash with {"command":"run a"})\n\n' +
        "[result of Bash]\ndone",
    );
  });

  it("dates each message in the user's timezone, and does not repeat what the agent recalled", () => {
    const asked = { ...user("meet Kim tomorrow"), timestamp: Date.parse("2026-11-23T23:30:00Z") };
    for (const toolName of ["gsv__recall", "session_logs", "gsv__SessionsList"]) {
      const recalled = { ...result("a", "said by a group"), toolName };
      const text = renderConversation([asked, recalled], "Europe/Madrid");
      expect(text).toBe(
        `[user, Tuesday 2026-11-24 00:30]\nmeet Kim tomorrow\n\n[result of ${toolName}]\n(left out)`,
      );
    }
  });

  it("asks for memories only if they are wanted", () => {
    expect(summaryPrompt("c", undefined, false).text).not.toContain("<memories>");
    expect(summaryPrompt("c", undefined, true).text).toContain("<memories>");
    expect(summaryPrompt("c", "so far", true).text).toContain("<summary_so_far>\nso far\n</summary_so_far>");
    expect(memoriesPrompt("c").text).not.toContain("<summary>");
  });
});

describe("a text that is shortened", () => {
  it("keeps its start and its end, and says what is missing", () => {
    const short = shorten(`start ${"x".repeat(1000)} end`, 200);
    expect(short.length).toBeLessThanOrEqual(200);
    expect(short).toMatch(/^start x+\n\[… \d+ characters left out …\]\nx+ end$/);
    expect(shorten("short", 200)).toBe("short");
  });

  it("stays well-formed if the cut falls within a character", () => {
    for (let most = 60; most < 80; most++) expect(shorten("🧭".repeat(100), most).isWellFormed()).toBe(true);
  });
});

describe("the message that replaces earlier ones", () => {
  it("says what it is, and can be read again", () => {
    const earlier = { count: 12, text: "They talked.\n\nA lot.", request: "go on\nplease" };
    const content = writeSummary(earlier, 1000);
    expect(content).toMatch(/^\[Summary of the earlier conversation: 12 messages, archived\]\n/);
    expect(readSummaryMessage(summaryMessage(content, 1))).toEqual(earlier);
    const { request: _, ...without } = earlier;
    expect(readSummaryMessage(summaryMessage(writeSummary(without, 1000), 1))).toEqual(without);
    expect(readSummaryMessage(user("hello"))).toBeUndefined();
    expect(readSummaryMessage(undefined)).toBeUndefined();
  });

  it("never exceeds its limit", () => {
    for (let most = 100; most < 2000; most += 37) {
      const content = writeSummary({ count: 5, text: "t".repeat(5000), request: "r".repeat(5000) }, most);
      expect(content.length).toBeLessThanOrEqual(most);
      expect(content).toMatch(/^\[Summary/);
    }
  });

  it("shows the user's request if no kept message does", () => {
    const steps = [assistant("", "a"), result("a", "1")];
    expect(requestAmong([user("do it"), ...steps], steps)).toBe("do it");
    expect(requestAmong([user("do it")], [user("no, this"), ...steps])).toBeUndefined();
    expect(requestAmong(steps, steps)).toBeUndefined();
  });

  it("keeps the request from one summary to the next", () => {
    const steps = [assistant("", "a"), result("a", "1")];
    const carried = summaryMessage(writeSummary({ count: 1, text: "t", request: "do it" }, 1000), 1);
    expect(requestAmong([carried, ...steps], steps)).toBe("do it");
    const done = summaryMessage(writeSummary({ count: 1, text: "t" }, 1000), 1);
    expect(requestAmong([done, ...steps], steps)).toBeUndefined();
  });
});
