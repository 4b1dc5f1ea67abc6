import { plainText, termsOf } from "./words.ts";

/** Languages whose names of months and weekdays a question may use. */
const languages = ["es", "fr", "de", "it", "pt", "nl", "ru", "zh", "ja", "ko", "th"];

const english = "en-US";
const dayMs = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();
let foreignNames: Map<string, string> | undefined;

/**
 * The day of a message in words, such as `Thursday 8 May 2025`, so that a question which names the day or the month finds
 * it.
 * @param ts epoch milliseconds
 * @param timezone IANA name
 */
export function dayInWords(ts: number, timezone: string): string {
  let format = formats.get(timezone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: timezone });
    formats.set(timezone, format);
  }
  return format.format(ts);
}

/** The terms that a question's own names of months and weekdays have in the days of messages: `mayo` and `5月` are `may`. */
export function dateTerms(question: string): string[] {
  foreignNames ??= readNames();
  const plain = plainText(question);
  const found: string[] = [];
  for (const [name, words] of foreignNames) if (hasName(plain, name)) found.push(words);
  for (const [, month] of plain.matchAll(/(?<!\d)(\d{1,2})\s?[月월]/g))
    found.push(namesOf(english, "month")[Number(month) - 1] ?? "");
  for (const [, year] of plain.matchAll(/(\d{4})\s?[年년]/g)) if (year) found.push(year);
  for (const [, day] of plain.matchAll(/(?<!\d)(\d{1,2})\s?[日号號일]/g)) if (day) found.push(day);
  return found.flatMap((words) => termsOf(words));
}

/** A name of a language with spaces must be a word of the question; of one without spaces, a part of it. */
function hasName(plain: string, name: string): boolean {
  if (!/^[a-z]/.test(name)) return plain.includes(name);
  return new RegExp(`(?<![a-z])${name}(?![a-z])`).test(plain);
}

function readNames(): Map<string, string> {
  const names = new Map<string, string>();
  const ours = [namesOf(english, "month"), namesOf(english, "weekday")].flat();
  for (const language of languages) {
    const theirs = [namesOf(language, "month"), namesOf(language, "weekday")].flat();
    for (const [i, name] of theirs.entries()) {
      const plain = plainText(name);
      // Months that are only a number with a sign (5月) are read by their pattern.
      if (!/\d/.test(plain)) names.set(plain, ours[i] ?? "");
    }
  }
  return names;
}

/** The months from January on, or the weekdays from Monday on. Making a format takes long, so each list has one. */
function namesOf(language: string, part: "month" | "weekday"): string[] {
  const format = new Intl.DateTimeFormat(language, { [part]: "long", timeZone: "UTC" });
  const times =
    part === "month"
      ? Array.from({ length: 12 }, (_, month) => Date.UTC(2024, month, 1))
      : Array.from({ length: 7 }, (_, day) => Date.UTC(2024, 0, 1) + day * dayMs);
  return times.map((time) => format.format(time));
}
