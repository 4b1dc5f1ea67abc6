/** A memory that a sweep writes into MEMORY.md. */
export interface Promotion {
  id: string;
  text: string;
  score: number;
  /** How often it was recalled, and on how many days. */
  hits: number;
  days: number;
}

/** The counts of a sweep, for the diary. */
export interface SweepCounts {
  candidates: number;
  /** Memories that an earlier sweep promoted. */
  alreadyPromoted: number;
  /** Memories left out because they contain a secret. */
  secrets: number;
}

/** The first line of MEMORY.md and DREAMS.md when a sweep creates them. */
const fileTitles = { memory: "# MEMORY.md\n", diary: "# DREAMS.md — Dream Diary\n" } as const;

/** Maximum characters of DREAMS.md. Older entries remain only in the workspace's history. */
const maxOfDiary = 500_000;

/** The section of MEMORY.md with a sweep's promotions. @param at epoch ms */
export function dreamedSection(promotions: readonly Promotion[], at: number): string {
  const lines = promotions.map(
    ({ text, score, hits, days }) => `- ${text} _(score=${score.toFixed(2)}, hits=${hits}, days=${days})_`,
  );
  return [`## Dreamed ${minuteOf(at)}`, "", ...lines, ""].join("\n");
}

/** The entry of DREAMS.md about a sweep. Secrets are counted, never shown. @param at epoch ms */
export function diaryEntry(promotions: readonly Promotion[], counts: SweepCounts, at: number): string {
  const { candidates, alreadyPromoted, secrets } = counts;
  const lines = promotions.map(
    ({ text, score, hits }) => `- ${text} — score ${score.toFixed(2)}, hits ${hits}`,
  );
  return [
    `## Deep Sleep ${minuteOf(at)}`,
    "",
    `- candidates: ${candidates}`,
    `- promoted: ${promotions.length}`,
    `- skipped (already promoted): ${alreadyPromoted}`,
    ...(secrets > 0 ? [`- kept out (holds a secret): ${secrets}`] : []),
    ...(lines.length > 0 ? ["", "### Promoted", "", ...lines] : []),
    "",
  ].join("\n");
}

/** Appends a section to MEMORY.md, unless it is already there. */
export function withDreamed(content: string | undefined, section: string): string {
  return withSection(content ?? fileTitles.memory, section);
}

/** Appends an entry to DREAMS.md, unless it is already there, and removes the oldest entries when it becomes too long. */
export function withDiaryEntry(content: string | undefined, entry: string): string {
  const whole = withSection(content ?? fileTitles.diary, entry);
  if (whole.length <= maxOfDiary) return whole;
  const from = whole.indexOf("\n## Deep Sleep ", whole.length - maxOfDiary);
  return from < 0 ? whole : `${fileTitles.diary}${whole.slice(from)}`;
}

function withSection(content: string, section: string): string {
  if (hasSection(`\n${content}`, section)) return content;
  const end = content === "" || content.endsWith("\n\n") ? "" : content.endsWith("\n") ? "\n" : "\n\n";
  return content + end + section;
}

/** A line of a promotion in either file. It differs from those of every other sweep of the same minute. */
const promotionLine = /^- .* (_\(score=|— score )/;

/** Whether a text has a section, perhaps without promotions that were forgotten since. */
function hasSection(content: string, section: string): boolean {
  const [heading, ...lines] = section.split("\n");
  if (content.includes(`\n${section}`)) return true;
  const promoted = lines.filter((line) => promotionLine.test(line));
  return content.includes(`\n${heading}\n`) && promoted.some((line) => content.includes(`\n${line}\n`));
}

/** `2026-04-24 03:00 UTC`. */
function minuteOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
