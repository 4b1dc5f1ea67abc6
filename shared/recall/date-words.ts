import { plainText, termsOf } from "./words.ts";

/** Languages whose names of months and weekdays questions may use. */
const languages = ["es", "fr", "de", "it", "pt", "nl", "ru", "zh", "ja", "ko", "th"];

const english = "en-US";
const dayMs = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();
let foreignNames: Map<string, string> | undefined;

/**
 * The day of a message in words, such as `Thursday 8 May 2025`, so that a question with the day or the month finds it.
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

/** Translates a question's names of months and weekdays to the terms of `dayInWords`: `mayo` and `5月` become `may`. */
export function dateTerms(question: string): string[] {
  foreignNames ??= readNames();
  const plain = plainText(question);
  const found: string[] = [];
  for (const [name, words] of foreignNames) if (hasName(plain, name)) found.push(words);
  for (const [, month] of plain.matchAll(/(?<!\d)(\d{1,2})\s?[月월]/g))
    found.push(calendarNames(english, "month")[Number(month) - 1] ?? "");
  for (const [, year] of plain.matchAll(/(\d{4})\s?[年년]/g)) if (year) found.push(year);
  for (const [, day] of plain.matchAll(/(?<!\d)(\d{1,2})\s?[日号號일]/g)) if (day) found.push(day);
  return found.flatMap((words) => termsOf(words));
}

/** A name in a language with spaces must be a word of the question; in one without spaces, a part of it. */
function hasName(plain: string, name: string): boolean {
  if (!plain.includes(name)) return false;
  return !/^[a-z]/.test(name) || new RegExp(`(?<![a-z])${name}(?![a-z])`).test(plain);
}

function readNames(): Map<string, string> {
  const names = new Map<string, string>();
  const ours = [calendarNames(english, "month"), calendarNames(english, "weekday")].flat();
  for (const language of languages) {
    const theirs = [calendarNames(language, "month"), calendarNames(language, "weekday")].flat();
    for (const [i, name] of theirs.entries()) {
      const plain = plainText(name);
      // Months written as a number with a character (5月) are matched by their pattern.
      if (!/\d/.test(plain)) names.set(plain, ours[i] ?? "");
    }
  }
  return names;
}

/** The months, starting with January, or the weekdays, starting with Monday. One format per list, because creating it is slow. */
function calendarNames(language: string, part: "month" | "weekday"): string[] {
  const format = new Intl.DateTimeFormat(language, { [part]: "long", timeZone: "UTC" });
  const times =
    part === "month"
      ? Array.from({ length: 12 }, (_, month) => Date.UTC(2024, month, 1))
      : Array.from({ length: 7 }, (_, day) => Date.UTC(2024, 0, 1) + day * dayMs);
  return times.map((time) => format.format(time));
}
