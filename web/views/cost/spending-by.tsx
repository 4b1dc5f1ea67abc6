import { useSignal } from "@preact/signals";
import type { UsageGroup, UsageGroupEntry } from "../../../shared/protocol/usage.ts";
import { sessionName } from "../../chat/session-name.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { Choice } from "../../parts/choice.tsx";
import { Fault } from "../../parts/fault.tsx";
import { useAnswer } from "../../parts/use-answer.ts";
import { addressOf } from "../../routes.ts";
import type { ConsoleState } from "../../state/console-state.ts";
import { costText, countText, priceText } from "./cost-texts.ts";
import { ShareBar } from "./share-bar.tsx";

const groups = {
  kind: "Kind",
  model: "Model",
  agent: "Agent",
  session: "Session",
  day: "Day",
} as const satisfies Partial<Record<UsageGroup, string>>;

const periods = { today: "Today", month: "This month" };

/** What the money of a period was spent on. @param month its first day */
export function SpendingBy({ state, today, month }: { state: ConsoleState; today: string; month: string }) {
  const by = useSignal<keyof typeof groups>("kind");
  const period = useSignal<keyof typeof periods>("month");
  const since = period.value === "today" ? today : month;
  const usage = useAnswer(
    state,
    async () => ({
      by: by.value,
      ...(await state.connection.request("usage.get", { by: by.value, since })),
    }),
    [by.value, since],
  );
  const found = usage.value.value;
  const entries = found?.groups ?? [];
  const highest = Math.max(...entries.map(({ dollars }) => dollars), 0);
  return (
    <section>
      <h2>Spent on</h2>
      <div class="choices">
        <Choice label="Period" names={periods} chosen={period} />
        <Choice label="Grouped by" names={groups} chosen={by} />
      </div>
      <Fault text={usage.fault.value} retry={usage.reload} />
      {found && entries.length === 0 && <p class="note">No model was called since {found.total.since}.</p>}
      <ul class="spending">
        {found &&
          entries.map((entry) => (
            <li key={entry.name}>
              <p class="row">
                <EntryName name={entry.name} by={found.by} />
                <span>{costText(entry)}</span>
              </p>
              <ShareBar share={highest === 0 ? 0 : entry.dollars / highest} />
              {found.by !== "session" && <p class="small">{detailText(entry)}</p>}
            </li>
          ))}
        {found?.restDollars !== undefined && (
          <li>
            <p class="row">
              <span>in progress or interrupted</span>
              <span>{priceText(found.restDollars)}</span>
            </p>
          </li>
        )}
      </ul>
    </section>
  );
}

function EntryName({ name, by }: { name: string; by: UsageGroup }) {
  if (name === "") return <span>{by === "session" ? "other sessions" : `no ${by}`}</span>;
  if (by !== "session") return <span dir="auto">{showHidden(name)}</span>;
  return (
    <a dir="auto" href={addressOf("chat", name)}>
      {showHidden(sessionName({ sessionKey: name }))}
    </a>
  );
}

function detailText(entry: UsageGroupEntry): string {
  const { calls = 0, input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = entry;
  const { savedDollars = 0, estimated = 0 } = entry;
  const read = input + cacheRead + cacheWrite;
  const share = read === 0 ? 0 : Math.round((100 * cacheRead) / read);
  return [
    `${countText(calls)} ${calls === 1 ? "call" : "calls"}`,
    `${countText(read)} tokens read, ${share}% from the cache`,
    `${countText(output)} written`,
    ...(savedDollars > 0 ? [`the cache saved ${priceText(savedDollars)}`] : []),
    ...(estimated > 0 ? [`price of ${countText(estimated)} unknown`] : []),
  ].join(" · ");
}
