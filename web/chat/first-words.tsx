import { useAnswer } from "../parts/use-answer.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { showHidden } from "./shown-text.ts";

/** What an empty conversation offers: three things to try, about a connected machine when there is one. */
export function FirstWords({ state, draft }: { state: ConsoleState; draft: { value: string } }) {
  const tools = useAnswer(state, async () => (await state.connection.request("tools.list", {})).tools);
  const machine = tools.value.value
    ?.map(({ name }) => name.split("__")[0])
    .find((node) => node && node !== "gsv");
  return (
    <section class="empty">
      <h2>What shall we do?</h2>
      <p class="dim">Write below, or begin with one of these. A slash lists commands.</p>
      {wordsFor(machine && showHidden(machine)).map((words) => (
        <button
          type="button"
          onClick={() => {
            draft.value = words;
            document.querySelector("textarea")?.focus();
          }}
        >
          {words}
        </button>
      ))}
    </section>
  );
}

function wordsFor(machine: string | undefined): string[] {
  const aboutTools = machine
    ? [`What can you do on ${machine}?`, `Which files changed this week on ${machine}?`]
    : ["What can you do?", "Remember that I like short answers."];
  return [...aboutTools, "Remind me at 17:00 to call the dentist."];
}
