import * as v from "valibot";

/** Conversations and questions about them: docs/search.md, "Measure it on data of your own". */
const format = v.object({
  sessions: v.array(
    v.object({
      id: v.string(),
      at: v.optional(v.union([v.number(), v.string()])),
      turns: v.array(v.object({ id: v.string(), role: v.string(), text: v.string() })),
    }),
  ),
  questions: v.array(
    v.object({
      text: v.string(),
      /** Wordings that are searched together, as the agent's tool does; absent: only the text. */
      queries: v.optional(v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(4))),
      evidence: v.array(v.string()),
    }),
  ),
});

export type QuestionSet = v.InferOutput<typeof format>;

/** @throws Error, one line: what is wrong with the file */
export function readQuestionSet(json: string): QuestionSet {
  const result = v.safeParse(format, JSON.parse(json), { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new Error(`${v.getDotPath(issue) ?? "the file"}: ${issue.message}`);
}

const dayPattern = /(\d{1,2})\s+(\p{L}+),?\s+(\d{4})/u;

/**
 * The time of a session, epoch ms: a number as it is, a text as `Date` reads it, or the day in it (`1:56 pm on 8 May, 2023`).
 * @throws Error when no day can be read
 */
export function timeOf(session: QuestionSet["sessions"][number]): number {
  const { id, at = 0 } = session;
  if (typeof at === "number") return at;
  const day = dayPattern.exec(at);
  const times = [Date.parse(at), day ? Date.parse(`${day[1]} ${day[2]} ${day[3]} UTC`) : Number.NaN];
  const time = times.find((one) => !Number.isNaN(one));
  if (time !== undefined) return time;
  throw new Error(`sessions: the time of ${id} is not one: ${at}`);
}
