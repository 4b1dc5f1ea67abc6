import { contentNote } from "../../../shared/channels/content/content-note.ts";
import type { Feedback } from "../../../shared/session/state.ts";

/** What the model reads of the owner's verdicts: one line for each answer. The newest that was not taken back counts. */
export function feedbackLines(feedback: readonly Feedback[]): string[] {
  const answers = new Map<string, { text: string; verdicts: string[] }>();
  for (const { messageId, text, emoji, isRemoved } of feedback) {
    const before = emoji ? (answers.get(messageId)?.verdicts ?? []) : [];
    const others = before.filter((one) => one !== emoji);
    answers.set(messageId, { text, verdicts: emoji && !isRemoved ? [...others, emoji] : others });
  }
  return [...answers.values()].flatMap(({ text, verdicts }) => {
    const last = verdicts.at(-1);
    return last ? [contentNote(`the owner reacted ${last} to your answer`, text)] : [];
  });
}
