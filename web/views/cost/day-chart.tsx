import type { UsageGroupEntry } from "../../../shared/protocol/usage.ts";
import { costText, dayBefore, priceText } from "./cost-texts.ts";

/** Size of the drawing, in its own units: a day is `step` wide. */
const drawing = { height: 100, step: 10, gap: 2 };

/** The cost of the last days as bars, today at the end. */
export function DayChart({
  today,
  count,
  days,
}: {
  today: string;
  count: number;
  days: readonly UsageGroupEntry[];
}) {
  const known = new Map(days.map((day) => [day.name, day]));
  const bars = Array.from({ length: count }, (_, index) => {
    const name = dayBefore(today, count - 1 - index);
    return known.get(name) ?? { name, dollars: 0 };
  });
  const highest = Math.max(...bars.map(({ dollars }) => dollars));
  const total = bars.reduce((sum, { dollars }) => sum + dollars, 0);
  const first = bars[0]?.name ?? today;
  if (highest === 0) return <p class="note">No model call of the last {count} days has a price.</p>;
  return (
    <figure class="chart">
      <figcaption>
        Last {count} days: {priceText(total)}; at most {priceText(highest)} a day
      </figcaption>
      <svg
        viewBox={`0 0 ${count * drawing.step} ${drawing.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Cost of each day from ${first} to ${today}. Choose Day below for the figures.`}
      >
        {bars.map((bar, index) => (
          <Bar key={bar.name} bar={bar} x={index * drawing.step} share={bar.dollars / highest} />
        ))}
      </svg>
      <div class="small ends">
        <span>{first}</span>
        <span>{today}</span>
      </div>
    </figure>
  );
}

function Bar({ bar, x, share }: { bar: UsageGroupEntry; x: number; share: number }) {
  const height = bar.dollars === 0 ? 1 : Math.max(2, share * drawing.height);
  return (
    <g>
      <title>{`${bar.name}: ${costText(bar)}`}</title>
      <rect class="hit" x={x} y={0} width={drawing.step} height={drawing.height} />
      <rect
        class={bar.dollars === 0 ? "day none" : "day"}
        x={x + drawing.gap / 2}
        y={drawing.height - height}
        width={drawing.step - drawing.gap}
        height={height}
      />
    </g>
  );
}
