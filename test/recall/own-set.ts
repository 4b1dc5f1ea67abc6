import { readFile } from "node:fs/promises";
import { seededRandom } from "../support/random.ts";
import type { QuestionSet } from "./question-set.ts";
import { type Language, smallTalk } from "./set/small-talk.ts";

/** Conversations of small talk for each language, and their turns. */
const chats = 40;
const chatTurns = 10;

const dayMs = 86_400_000;

/**
 * The project's own set: what three people told their agents in a year, in English, Spanish and Chinese, among small talk
 * about the same people and things. `test/recall/set/*.txt`: `# time` begins a conversation, `u:` and `a:` a turn, `{label}`
 * names a turn, and `? question => labels` asks for turns.
 */
export async function readOwnSet(): Promise<QuestionSet> {
  const set: QuestionSet = { sessions: [], questions: [] };
  const random = seededRandom(16);
  for (const language of ["english", "spanish", "chinese"] as const) {
    const text = await readFile(new URL(`set/${language}.txt`, import.meta.url), "utf8");
    addWritten(set, language, text.split("\n"));
    for (let chat = 0; chat < chats; chat++) {
      const id = `${language}-chat-${chat}`;
      const at = Date.UTC(2025, 0, 2) + random.integer(320) * dayMs;
      const turns = smallTalk(language, chatTurns, random);
      set.sessions.push({ id, at, turns: turns.map((turn, i) => ({ ...turn, id: `${id}/${i}` })) });
    }
  }
  return set;
}

function addWritten(set: QuestionSet, language: Language, lines: readonly string[]): void {
  for (const line of lines) {
    const [, sign = "", rest = ""] = /^(#|u:|a:|\?) (.*)$/.exec(line) ?? [];
    if (sign === "#")
      set.sessions.push({ id: `${language} ${rest}`, at: `${rest.replace(" ", "T")}Z`, turns: [] });
    else if (sign === "?") {
      const [text = "", labels = ""] = rest.split(" => ");
      set.questions.push({ text, evidence: labels.split(" ").map((label) => `${language}/${label}`) });
    } else if (sign !== "") {
      const turns = set.sessions.at(-1)?.turns ?? [];
      const label = /\s*\{(\w+)\}$/.exec(rest);
      const id = label ? `${language}/${label[1]}` : `${set.sessions.at(-1)?.id}/${turns.length}`;
      turns.push({ id, role: sign === "u:" ? "user" : "assistant", text: rest.replace(/\s*\{\w+\}$/, "") });
    }
  }
}
