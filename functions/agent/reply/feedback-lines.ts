import { contentNote } from "../../../shared/channels/content/content-note.ts";
import type { Feedback } from "../../../shared/session/state.ts";

/** What the model reads of the owner's verdicts: one line for each answer. */
export function feedbackLines(feedback: readonly Feedback[]): string[] {
  const last = new Map(feedback.map((one) => [one.messageId, one]));
  return [...last.values()].flatMap(({ emoji, text }) =>
    emoji ? [contentNote(`the owner reacted ${emoji} to your answer`, text)] : [],
  );
}
