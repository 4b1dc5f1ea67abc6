import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RequestCards } from "../../../../cli/chat/terminal/request-cards.ts";
import type { Approval } from "../../../../shared/protocol/approvals.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { until } from "../../../support/until.ts";
import { type FakeMethod, approval as one } from "../../fake-gateway.ts";
import { type ChatAtTerminal, chatAtTerminal } from "./chat-at-terminal.ts";

const two: Approval = {
  ...{ ...one, id: "d".repeat(16), tool: "gsv__Cron", args: { action: "add" } },
  ...{ hash: "1".repeat(64), sessionKey: "agent:main:other", origins: ["web:evil.example"] },
};

/** A chat with the requests that wait when it begins. */
async function chatWith(open: readonly Approval[], answer: FakeMethod = () => ({ status: "answered" })) {
  const methods: Record<string, FakeMethod> = {
    "approval.list": () => ({ approvals: open, count: open.length }),
    "approval.answer": answer,
  };
  return chatAtTerminal({ methods, columns: 100, rows: 30, isReady: (text) => /^>$/m.test(text) });
}
const answers = ({ gateway }: ChatAtTerminal) =>
  gateway.requests.filter(({ method }) => method === "approval.answer").map(({ params }) => params);
const answered = (chat: ChatAtTerminal) => until(() => answers(chat)[0], "an answer was sent");

describe("a request in a chat", () => {
  it("is shown whole, with hidden characters, why it is asked and whose words were read", async () => {
    const command = `${"echo a long line; ".repeat(60)}git push \u202Ex\u200B`;
    const chat = await chatWith([]);
    const origins = ["web:evil.example", "guest:telegram/7"];
    chat.gateway.emit("approval.requested", { ...one, args: { command, workdir: "/srv" }, origins });
    await chat.terminal.sees("pi__Bash: a allow once · r in this run · w always exactly this · d deny");
    const shown = chat.terminal.text().replaceAll(/\s+/g, " ");
    expect(shown).toContain("May I use pi__Bash on pi? echo a long line;");
    expect(shown.match(/echo a long line;/g)).toHaveLength(60);
    expect(shown).toContain('git push ⟨U+202E⟩x⟨U+200B⟩ {"workdir":"/srv"}');
    expect(shown).toContain("why: mode ask words read: web:evil.example, guest:telegram/7");
  });

  it.each([
    ["a", "allow", "once", "allowed once"],
    ["r", "allow", "run", "allowed in this run"],
    ["w", "allow", "always", "allowed always"],
    ["d", "deny", "once", "denied"],
  ])("is answered by %s alone, bound to what was shown", async (key, decision, scope, said) => {
    const chat = await chatWith([one]);
    await chat.terminal.sees("a allow once");
    chat.terminal.type(`${key}\r`);
    expect(await answered(chat)).toEqual({ id: one.id, hash: one.hash, decision, scope });
    await chat.terminal.sees(`(pi__Bash: ${said} (${one.id}))`);
    await chat.terminal.until((text) => !text.includes("a allow once"), "no keys");
    expect(chat.sent()).toEqual([]);
  });

  it("is not answered by a message that begins with a key", async () => {
    const chat = await chatWith([one]);
    await chat.terminal.sees("a allow once");
    chat.terminal.type("also run the tests\r");
    await until(() => chat.sent().length === 1, "the message was sent");
    expect(chat.sent()[0]?.message).toBe("also run the tests");
    expect(answers(chat)).toEqual([]);
  });

  it("makes room for the next one, also when somebody else answers", async () => {
    const chat = await chatWith([one, two]);
    await chat.terminal.sees("pi__Bash (1 of 2)");
    expect(chat.terminal.text()).not.toContain("gsv__Cron");
    const answer = { decision: "deny", scope: "once", by: "telegram 7", at: 1 } as const;
    chat.gateway.emit("approval.resolved", { ...one, state: "denied", answer });
    await chat.terminal.sees(`(pi__Bash is denied by telegram 7 (${one.id}))`);
    await chat.terminal.sees(
      /words read: web:evil\.example\n +session: agent:main:other|session: agent:main:other/,
    );
    await chat.terminal.sees("gsv__Cron: a allow once");
    chat.terminal.type("a\r");
    await until(() => answers(chat).length === 1, "an answer was sent");
    expect(answers(chat)).toEqual([{ id: two.id, hash: two.hash, decision: "allow", scope: "once" }]);
  });

  it("offers only one call when each has to be asked about", async () => {
    const chat = await chatWith([{ ...one, everyTime: true }]);
    await chat.terminal.sees(/^pi__Bash: a allow once · d deny$/m);
    chat.terminal.type("w\r");
    await until(() => chat.sent().length === 1, "the letter was sent as a message");
    expect(answers(chat)).toEqual([]);
  });

  it("says who was first, and keeps a request whose answer was refused", async () => {
    let result: unknown;
    const chat = await chatWith([one], () => {
      if (result) return result;
      throw new PeerError(403, "approval.answer needs the scope approve");
    });
    await chat.terminal.sees("a allow once");
    chat.terminal.type("a\r");
    await chat.terminal.sees(/not answered: .*approve/);
    await chat.terminal.sees(/> *\npi__Bash: a allow once/);
    result = { status: "already", decision: "deny", by: "client laptop", at: 1 };
    chat.terminal.type("a\r");
    await chat.terminal.sees("pi__Bash: already answered with deny by client laptop");
    await chat.terminal.until((text) => !text.includes("a allow once"), "no keys");
  });

  it("is shown once, and goes when it has ended while the connection was lost", async () => {
    const open = [one];
    const chat = await chatWith(open);
    await chat.terminal.sees("a allow once");
    chat.gateway.emit("approval.requested", one);
    chat.gateway.emit("approval.requested", { ...one, reminder: true });
    await chat.terminal.sees("still waiting for your answer: git push");
    expect(chat.terminal.text().match(/May I use/g)).toHaveLength(1);
    open.pop();
    chat.gateway.methods["approval.get"] = () => ({ ...one, state: "unanswered" });
    chat.gateway.dropAll();
    await chat.terminal.sees("pi__Bash is not run: nobody answered in time");
    await chat.terminal.until((text) => !text.includes("a allow once"), "no keys");
  });
});

describe("a gateway where nobody has chosen when the owner is asked", () => {
  it("says so in a chat, the first time", async () => {
    const list = { approvals: [], count: 0, unchosen: "new" };
    const chat = await chatAtTerminal({ methods: { "approval.list": () => list } });
    await chat.terminal.sees(/this gateway can ask you[\s\S]*gsv approvals mode guard/);
    list.unchosen = "told";
    chat.gateway.dropAll();
    await chat.terminal.sees("connected again");
    expect(chat.terminal.text().match(/this gateway can ask you/g)).toHaveLength(1);
  });
});

describe("a letter in the prompt", () => {
  let sent: unknown[];
  let listeners: Record<string, (payload: unknown) => void>;
  let notes: string[];
  let cards: RequestCards;

  beforeEach(() => {
    vi.useFakeTimers();
    [sent, listeners, notes] = [[], {}, []];
    const gateway = {
      onEvent: (event: string, listen: (payload: unknown) => void) => {
        listeners[event] = listen;
        return () => undefined;
      },
      request: async (method: string, params: unknown) => {
        if (method === "approval.answer") sent.push(params);
        return { status: "answered", approvals: [], count: 0 };
      },
    };
    const [print, draw, clearInput] = Array.from({ length: 3 }, () => () => undefined);
    const place = { print, draw, clearInput, note: (line: string) => notes.push(line) };
    cards = new RequestCards(gateway as never, place as never);
    for (const request of [one, two]) listeners["approval.requested"]?.(request);
  });
  afterEach(() => {
    cards.close();
    vi.useRealTimers();
  });

  it("answers without Enter when no key follows for a second", () => {
    cards.typed("d");
    vi.advanceTimersByTime(999);
    expect(sent).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(sent).toMatchObject([{ id: one.id, decision: "deny" }]);
  });

  it("answers nothing when it becomes a message", () => {
    cards.typed("a");
    cards.typed("al");
    vi.advanceTimersByTime(60_000);
    expect([sent, cards.submit("also")]).toEqual([[], false]);
  });

  it.each([
    ["Enter", () => cards.submit("a")],
    ["the end of the second", () => vi.advanceTimersByTime(1000)],
  ])("allows no other request that is shown at %s, because the first has ended", (_when, act) => {
    cards.typed("a");
    listeners["approval.resolved"]?.({ ...one, state: "withdrawn" });
    expect(cards.row).toMatch(/^gsv__Cron: a allow once/);
    act();
    expect(sent).toEqual([]);
    expect(notes.at(-1)).toBe(`nothing was answered: that request has ended (${one.id})`);
  });
});
