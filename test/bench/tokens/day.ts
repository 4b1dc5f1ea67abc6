import days from "./days.json" with { type: "json" };

/** Something that happens on a day. `at`: minutes after 07:00 UTC. Sizes are in characters. */
export type DayEvent = { at: number } & (
  | {
      /** A message of the owner in the main conversation. */
      say: number;
      answer: number;
      /** Absent: from the terminal. */
      via?: "telegram";
      /** Rounds of one tool call before the answer; `result`: size of each result. Native when the node is away. */
      steps?: number;
      result?: number;
      /** The model stores a memory first. */
      remember?: true;
    }
  | { node: "leaves" | "returns" }
  | { beat: true }
  | { cron: number; answer: number }
);

export const dayNames = ["chatty", "sparse", "agentic"] as const;
export type DayName = (typeof dayNames)[number];

export function eventsOf(day: DayName): DayEvent[] {
  return days[day] as DayEvent[];
}

const words =
  "the boiler makes a noise again and Anna asks whether we moved dinner to Friday because of invoice 4711 which".split(
    " ",
  );

/** Text of this many characters, another one for each seed. */
export function textOf(characters: number, seed: number): string {
  const picked: string[] = [];
  let state = seed * 2654435761 + 1;
  for (let length = 0; length < characters; length += (picked.at(-1)?.length ?? 0) + 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    picked.push(words[(state >>> 16) % words.length] ?? "");
  }
  return picked.join(" ").slice(0, characters).trim() || "yes";
}
