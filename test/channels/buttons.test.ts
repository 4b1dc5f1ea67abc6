import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { answerRequest } from "../../shared/approvals/answer.ts";
import { closeQuestions } from "../../shared/approvals/press.ts";
import { listOpen, listRequests } from "../../shared/approvals/requests.ts";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { startTurnBench, type TurnBench } from "./turn-bench.ts";

describe.each(platformNames)("on %s, a request with buttons", (name) => {
  let platform: Platform;
  let bench: TurnBench;
  let buttons: NonNullable<Platform["buttons"]>;

  beforeAll(async () => {
    vi.spyOn(process.stdout, "write").mockReturnValue(true);
    ({ platform, bench } = await startTurnBench(name));
    buttons = platform.buttons!;
  });
  beforeEach(() => {
    bench.renew();
    bench.configure({ dmPolicy: "open", owners: [platform.people.ann] });
    bench.configuration.toolApproval.mode = "ask";
  });
  afterAll(() => bench.close());

  const file = "agents/main/asked.md";
  const wrote = async () => (await bench.bucket.get(file)) !== undefined;

  /** Has the agent ask before it writes this. */
  async function ask(content = "whole"): Promise<void> {
    bench.reply = { text: "done", tool: "gsv__WriteFile", calls: { path: "asked.md", content } };
    expect(await bench.deliver(platform.direct("go"))).toBe(true);
    await bench.runAgents();
    expect(await wrote()).toBe(false);
  }
  /** The question shows how it ended; where messages cannot be changed, the presser got a message. */
  function ended(text: string): void {
    if (buttons.areFixed) expect(buttons.told()).toContainEqual(expect.stringContaining(text));
    else expect(buttons.questions()[0]).toMatchObject({ text: expect.stringContaining(text), labels: [] });
  }
  const question = () => buttons.questions().at(-1)!;
  const press = (label: string, from?: string) => bench.deliver(buttons.press(label, from));
  const newest = async () => (await listRequests(bench.table, Date.now(), 10)).at(-1);
  const nothingRuns = async () => {
    await bench.runAgents();
    expect(await wrote()).toBe(false);
  };

  it("shows the whole call with its hidden characters, and runs it after a press", async () => {
    await ask(`a${"b".repeat(300)}\u{e0072}c`);
    expect(question().text).toContain(`a${"b".repeat(300)}⟨U+E0072⟩c`);
    expect(question().labels.slice(0, 2)).toEqual(["Allow once", "Allow for this run"]);
    expect(await press("Allow once")).toBe(true);
    ended("Allowed once by");
    expect(question().text).toContain("⟨U+E0072⟩");
    await bench.runAgents();
    expect([await wrote(), platform.answers().at(-1)]).toEqual([true, "done"]);
    const by = `${name} ${platform.people.ann}`;
    expect(await newest()).toMatchObject({ state: "allowed", answer: { by, scope: "once" } });
  });

  it("is not run after a denial", async () => {
    await ask();
    await press("Deny");
    ended("Denied by");
    await nothingRuns();
    expect(await newest()).toMatchObject({ state: "denied" });
  });

  it("refuses everybody but the owner, also one who is no longer", async () => {
    await ask();
    await press("Allow once", platform.people.bob);
    bench.configure({ dmPolicy: "open", owners: [platform.people.bob] });
    await press("Allow once");
    bench.configure({ owners: [platform.people.ann] });
    await press("Allow once");
    bench.configure({ dmPolicy: "open", owners: [platform.people.ann] }, { enabled: false });
    await press("Allow once");
    expect(buttons.told().slice(0, 3)).toEqual(Array(3).fill("Only the owner can answer this."));
    expect(question().labels).toContain("Allow once");
    await nothingRuns();
    expect(await newest()).toMatchObject({ state: "open" });
  });

  it("counts the first press: a second one and a repeated delivery change nothing", async () => {
    await ask();
    const [allow, deny] = [buttons.press("Allow once"), buttons.press("Deny")];
    expect([await bench.deliver(allow), await bench.deliver(allow), await bench.deliver(deny)]).toEqual([
      ...[true, true, true],
    ]);
    ended("Allowed once by");
    await bench.runAgents();
    expect(await wrote()).toBe(true);
    await bench.bucket.delete(file);
    await bench.deliver(allow);
    ended("Allowed once by");
    await nothingRuns();
  });

  it("cannot be answered after its time", async () => {
    await ask();
    bench.pass(25 * 3_600_000);
    await press("Allow once");
    ended("Nobody answered");
    await bench.sweep();
    expect(await wrote()).toBe(false);
  });

  it("shows how it ended without a press: after its time, and after a stop", async () => {
    await ask();
    bench.pass(25 * 3_600_000);
    await bench.sweep();
    if (!buttons.areFixed) ended("Nobody answered in time");
    expect(await wrote()).toBe(false);
    bench.renew();
    await ask();
    await bench.deliver(platform.direct("/stop"));
    await bench.runAgents();
    if (!buttons.areFixed) ended("Withdrawn");
    expect(await wrote()).toBe(false);
  });

  it("cannot be answered by a forged request", async () => {
    await ask();
    const right = platform.account[buttons.secret]!;
    platform.account[buttons.secret] = [...right].reverse().join("");
    bench.configure({ dmPolicy: "open", owners: [platform.people.ann] });
    expect(await press("Allow once")).toBe(false);
    platform.account[buttons.secret] = right;
    expect(question().labels).toContain("Allow once");
    await nothingRuns();
  });

  it("is set aside by a message, which its text then shows", async () => {
    await ask();
    await bench.deliver(platform.direct("something else"));
    await bench.runAgents();
    if (buttons.areFixed) ended("Set aside");
    else ended("Withdrawn");
  });

  it("shows an answer that was given elsewhere", async () => {
    await ask();
    const [{ id } = { id: "" }] = await listOpen(bench.table, Date.now());
    const wake = async () => {};
    const given = { decision: "deny", scope: "once", by: "client laptop", at: Date.now() } as const;
    const { approval } = await answerRequest({ table: bench.table, wake }, id, given);
    await closeQuestions(bench.sender, approval, "denied");
    if (!buttons.areFixed) ended("Denied by client laptop");
    await press("Allow once");
    ended("Denied by client laptop");
    await nothingRuns();
  });

  it("offers no permission where the call cannot be shown whole, or only once", async () => {
    await ask("long ".repeat(2000));
    expect(question()).toMatchObject({
      text: expect.stringContaining("gsv approvals show"),
      labels: ["Deny"],
    });
    bench.renew();
    const rule = { id: "r", tool: "*", decision: "ask", everyTime: true } as const;
    Object.assign(bench.configuration.toolApproval, { mode: "off", rules: [rule] });
    await ask();
    expect(question().labels).toEqual(["Allow once", "Deny"]);
    bench.configuration.toolApproval.rules = [];
  });

  it("accepts only what it offers, also from a changed client", async () => {
    await ask("long ".repeat(2000));
    const event = JSON.stringify(buttons.press("Deny")).replaceAll(":deny", ":once");
    await bench.deliver(JSON.parse(event));
    expect(buttons.told()).toContain("This cannot be answered here.");
    await nothingRuns();
    expect(await newest()).toMatchObject({ state: "open" });
  });

  it("offers no permission for a call that would end the code block around it", async () => {
    await ask("one ``` *two*");
    expect(question().labels.includes("Allow once")).toBe(name === "telegram");
  });

  it("is closed by its press if the process that sent it died before the receipt", async () => {
    await ask();
    const [{ id } = { id: "" }] = await listOpen(bench.table, Date.now());
    await bench.table.delete({ pk: `TX#ask:${id}`, sk: "0000" });
    await press("Allow once");
    ended("Allowed once by");
  });

  it("survives the death of the process that answers: the press is repeated", async () => {
    for (let calls = 1; ; calls++) {
      bench.renew();
      await ask();
      const event = buttons.press("Allow once");
      const { isOver } = await bench.dying(event, calls);
      if (!isOver) break;
      // The platform repeats the press after what the dead process had claimed.
      bench.pass(31_000);
      await bench.deliver(event);
      ended("Allowed once by");
      await bench.runAgents();
      expect(await wrote()).toBe(true);
    }
  });
});
