import type { UsageFigures } from "../../shared/protocol/usage.ts";
import { Fault } from "../parts/fault.tsx";
import { Loading } from "../parts/loading.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { Budgets } from "./cost/budgets.tsx";
import { costText, countText, dayBefore, priceText } from "./cost/cost-texts.ts";
import { DayChart } from "./cost/day-chart.tsx";
import { SpendingBy } from "./cost/spending-by.tsx";

/** Days of the chart. */
const chartDays = 30;

/** What the agent's model calls cost, and how much of the budgets is used. */
export default function CostView({ state }: { state: ConsoleState }) {
  const usage = useAnswer(state, () => {
    // The gateway's date may differ from the browser's by one.
    const since = dayBefore(new Date().toISOString().slice(0, 10), chartDays);
    return state.connection.request("usage.get", { by: "day", since });
  });
  const found = usage.value.value;
  return (
    <>
      <Fault text={usage.fault.value} retry={usage.reload} />
      {!found && usage.fault.value === "" && <Loading state={state} />}
      {found && (
        <>
          <div class="sums">
            <Sum title="Today" figures={found.today} />
            <Sum title="This month" figures={found.month} />
          </div>
          <DayChart today={found.today.date} count={chartDays} days={found.groups ?? []} />
          <Budgets state={state} />
          <SpendingBy state={state} today={found.today.date} month={found.month.since} />
          <p class="small">
            These are prices of models, searches and voice notes. The bill of AWS is not among them.
          </p>
        </>
      )}
    </>
  );
}

function Sum({ title, figures }: { title: string; figures: UsageFigures }) {
  const { calls, savedDollars, estimated, interrupted = 0 } = figures;
  return (
    <section class="sum" aria-label={title}>
      <h2>{title}</h2>
      <p class="amount">{costText(figures)}</p>
      <p class="small">
        {countText(calls)} {calls === 1 ? "call" : "calls"}
      </p>
      {savedDollars > 0 && <p class="small good">The cache saved {priceText(savedDollars)}</p>}
      {savedDollars < 0 && <p class="small">The cache cost {priceText(-savedDollars)} more than it saved</p>}
      {estimated > 0 && <p class="small">The price of {countText(estimated)} is unknown</p>}
      {interrupted > 0 && <p class="small">{countText(interrupted)} interrupted, counted at most</p>}
    </section>
  );
}
