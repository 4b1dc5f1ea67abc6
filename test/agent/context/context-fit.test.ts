import { describe, expect, it } from "vitest";
import { type Fit, fitRequest, planCut } from "../../../functions/agent/context/context-fit.ts";
import {
  messageCharacters,
  type Request,
  requestTokens,
  tokenRate,
  totalCharacters,
} from "../../../functions/agent/context/context-size.ts";
import { shortenTexts } from "../../../functions/agent/context/shorten.ts";
import { type Message, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { summaryMessage } from "../../../shared/session/summary-message.ts";
import { seededRandom } from "../../support/random.ts";
import { assistant, randomTranscript, result, user } from "../compaction/transcripts.ts";

const settings = { enabled: true, reserveTokens: 20_000, keepRecentTokens: 20_000, extractMemories: true };

const request = (messages: readonly Message[], changed: Partial<Request> = {}): Request => ({
  messages,
  promptCharacters: 4000,
  contextWindow: 8000,
  settings,
  measured: {},
  ...changed,
});

const tokensOf = ({ promptCharacters, measured }: Request, messages: readonly Message[]) =>
  requestTokens(promptCharacters + totalCharacters(messages), measured);

/** The conversation after a compaction with the longest possible summary. */
function compacted(
  messages: readonly Message[],
  { cut, mostCharacters }: { cut: number; mostCharacters: number },
) {
  return [summaryMessage("s".repeat(mostCharacters), 9), ...messages.slice(cut)];
}

const chat = (turns: number, length = 300) =>
  Array.from({ length: turns }, () => [user("q".repeat(length)), assistant("a".repeat(length))]).flat();

describe("the size of a request", () => {
  it("is characters / 4 × 1.2 before the first report", () => {
    expect(requestTokens(1000, {})).toBe(300);
  });

  it("is the last report plus an estimate of the later messages", () => {
    expect(requestTokens(1000, { contextTokens: 250, tokensPerCharacter: 0.25 })).toBe(250);
    expect(requestTokens(2000, { contextTokens: 250, tokensPerCharacter: 0.25 })).toBe(550);
  });

  it("counts more per character if the provider has reported more", () => {
    expect(requestTokens(2000, { contextTokens: 1000, tokensPerCharacter: 1 })).toBe(2200);
    expect(requestTokens(1000, { tokensPerCharacter: 1 })).toBe(1200);
  });

  it("shrinks with the request", () => {
    expect(requestTokens(500, { contextTokens: 250, tokensPerCharacter: 0.25 })).toBe(125);
  });

  it("counts an image by its cost, not by its bytes", () => {
    const image = { type: "image", mimeType: "image/png", data: "A".repeat(1_000_000) } as const;
    expect(messageCharacters({ role: "user", content: [image], timestamp: 1 })).toBeLessThan(6000);
  });
});

describe("a request that fits", () => {
  it("is sent unchanged", () => {
    const messages = chat(10);
    expect(fitRequest(request(messages), undefined)).toEqual({ status: "fits", messages });
  });

  it("of any size is sent unchanged if compaction is switched off", () => {
    const messages = chat(100);
    const off = request(messages, { settings: { ...settings, enabled: false } });
    expect(fitRequest(off, undefined)).toEqual({ status: "fits", messages });
  });

  it("leaves the reserve, or a quarter of a small window, for the answer", () => {
    const large = (characters: number) =>
      fitRequest(request(chat(characters / 680), { contextWindow: 200_000, promptCharacters: 0 }), undefined);
    expect(large(590_000).status).toBe("fits");
    expect(large(610_000).status).toBe("compact");
    const small = (characters: number) =>
      fitRequest(request(chat(characters / 680), { promptCharacters: 0 }), undefined);
    expect(small(19_000).status).toBe("fits");
    expect(small(21_000).status).toBe("compact");
  });
});

describe("a request that is too large", () => {
  it("keeps the newest messages, or a quarter of a small window, unchanged", () => {
    const messages = chat(40);
    const plan = fitRequest(request(messages, { promptCharacters: 0 }), undefined) as Extract<
      Fit,
      { status: "compact" }
    >;
    expect(plan.status).toBe("compact");
    const kept = totalCharacters(messages.slice(plan.cut.cut)) * 0.3;
    expect(kept).toBeLessThanOrEqual(2000);
    expect(kept).toBeGreaterThan(1800);
    const wide = request(chat(1200), { contextWindow: 200_000 });
    const { cut } = planCut(wide) as { cut: number };
    expect(totalCharacters(wide.messages.slice(cut)) * 0.3).toBeLessThanOrEqual(20_000);
    expect(totalCharacters(wide.messages.slice(cut)) * 0.3).toBeGreaterThan(19_500);
  });

  it("has its long texts shortened, with a note, if there is nothing to cut off", () => {
    const messages = [user("read it"), assistant("", "a"), result("a", "z".repeat(100_000))];
    const fit = fitRequest(request(messages), undefined);
    if (fit.status !== "fits") throw new Error(fit.status);
    expect(tokensOf(request([]), fit.messages)).toBeLessThanOrEqual(6000);
    expect(fit.messages.slice(0, 2)).toEqual(messages.slice(0, 2));
    expect(JSON.stringify(fit.messages[2])).toMatch(/\[… \d+ characters left out …\]/);
  });

  it("is not sent if even that is not enough", () => {
    const fit = fitRequest(request(chat(1), { promptCharacters: 40_000 }), undefined);
    expect(fit).toMatchObject({ status: "too long" });
    expect(fit.status === "too long" && fit.error).toMatch(/about \d+ tokens .* context window of 8000/);
  });

  it("fills half of the room after the provider has refused it", () => {
    const messages = chat(8, 1500);
    const fit = fitRequest(request(messages), "refused");
    if (fit.status !== "fits") throw new Error(fit.status);
    expect(totalCharacters(fit.messages)).toBeLessThanOrEqual((6000 / 0.3 - 4000) / 2);
    const { cut } = planCut(request(messages), true) as { cut: number };
    expect(totalCharacters(messages.slice(cut)) * 0.3).toBeLessThanOrEqual(1000);
  });

  it("is compacted at most once, and is smaller and fits afterwards", () => {
    let compactions = 0;
    for (let seed = 1; seed <= 400; seed++) {
      const random = seededRandom(seed);
      const messages = randomTranscript(random, 1 + random.integer(60), 30_000);
      const measured = random.pick<Request["measured"]>([
        {},
        { tokensPerCharacter: 0.2 + random.integer(100) / 100 },
        { contextTokens: 500 + random.integer(7000), tokensPerCharacter: 0.2 + random.integer(100) / 100 },
      ]);
      const contextWindow = random.pick([8000, 16_000, 128_000]);
      const before = request(messages, {
        measured,
        contextWindow,
        promptCharacters: 100 + random.integer(5000),
      });
      const first = fitRequest(before, undefined);
      if (first.status === "compact") {
        compactions++;
        const after = compacted(messages, first.cut);
        expect(totalCharacters(after), `seed ${seed}`).toBeLessThan(totalCharacters(messages));
        const { tokensPerCharacter } = measured;
        const again = fitRequest(
          { ...before, messages: after, measured: { tokensPerCharacter } },
          "compacted",
        );
        expect(again.status, `seed ${seed}`).not.toBe("compact");
        check(before, { tokensPerCharacter }, again, seed);
      } else check(before, measured, first, seed);
    }
    expect(compactions).toBeGreaterThan(50);
  });

  function check(before: Request, measured: Request["measured"], fit: Fit, seed: number): void {
    const prompt = before.promptCharacters * tokenRate(measured.tokensPerCharacter);
    if (prompt < before.contextWindow / 4) expect(fit.status, `seed ${seed}`).toBe("fits");
    if (fit.status !== "fits") return;
    const tokens = tokensOf({ ...before, measured }, fit.messages);
    expect(tokens, `seed ${seed}`).toBeLessThanOrEqual((before.contextWindow * 15) / 16);
  }
});

describe("shortening", () => {
  it("brings any conversation down to size, and changes nothing but long texts", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const messages = randomTranscript(random, 1 + random.integer(6), 20_000);
      const most = 8000 + random.integer(10_000);
      const short = shortenTexts(messages, most);
      const everyTextMinimal = messages.length * 500 > most;
      if (!everyTextMinimal) expect(totalCharacters(short), `seed ${seed}`).toBeLessThanOrEqual(most);
      expect(short.map((message) => message.role)).toEqual(messages.map((message) => message.role));
      expect(short.flatMap(toolCallsOf).map(({ id }) => id)).toEqual(
        messages.flatMap(toolCallsOf).map(({ id }) => id),
      );
      for (const [i, message] of messages.entries())
        if (messageCharacters(message) <= 200) expect(short[i]).toEqual(message);
    }
  });

  it("shortens texts of users and tools before the model's own", () => {
    const messages = [user("u".repeat(5000)), assistant("a".repeat(3000)), result("r", "r".repeat(5000))];
    const some = shortenTexts(messages, 9000);
    expect(some[1]).toEqual(messages[1]);
    const all = shortenTexts(messages, 2000);
    expect(messageCharacters(all[1]!)).toBeLessThan(2000);
  });

  it("shortens long arguments within a call, and keeps the call", () => {
    const write: Message = {
      role: "assistant",
      content: [
        { type: "toolCall", id: "a", name: "Write", arguments: { path: "x", lines: ["y".repeat(9000)] } },
      ],
      timestamp: 1,
    };
    const [short] = shortenTexts([write, result("a", "ok")], 2000);
    expect(toolCallsOf(short!)).toMatchObject([{ id: "a", name: "Write", arguments: { path: "x" } }]);
    expect(JSON.stringify(short)).toContain("characters left out");
  });
});
