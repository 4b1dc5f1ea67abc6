import type { ProfileShares } from "./processes/profile.ts";

/** Target values from docs/performance.md; times hold for the machine on which they were set. */
const targets: Record<string, string> = {
  turn_in_floors: "≤ 7",
  tool_turn_in_floors: "≤ 15",
  turns_per_s_share_of_floor: "≥ 0.10",
  tool_turns_per_s_share_of_floor: "≥ 0.045",
  cpu_ms_per_turn: "≤ 8",
  cpu_ms_per_tool_turn: "≤ 16",
  start_to_ready_ms: "≤ 500",
  start_to_first_answer_ms: "≤ 700",
  rss_mb: "≤ 150",
  "aws_calls.turn.sequential_to_model": "≤ 4",
  "aws_calls.tool_turn.sequential_result_to_model": "≤ 3",
};

export interface Machine {
  cpu: string;
  cores: number;
  memory_gb: number;
  /** Version, with a leading v. */
  node: string;
}

/** Formats the figures of a bench as lines: name, value, target. Nested figures have dotted names. */
export function table({ machine, ...figures }: { machine: Machine; [figure: string]: unknown }): string {
  const { cpu, cores, memory_gb, node } = machine;
  const title = `${cores} cores of ${cpu}, ${memory_gb} GB, Node ${node}`;
  return `${title}\n\n${columns([["figure", "value", "target"], ...rowsOf(figures, "")])}`;
}

function columns(rows: readonly string[][]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const [first, second] = [width(0), width(1)];
  return rows
    .map(([name = "", value = "", target = ""]) =>
      `${name.padEnd(first)}  ${value.padStart(second)}  ${target}`.trimEnd(),
    )
    .join("\n");
}

function rowsOf(value: object, prefix: string): string[][] {
  return Object.entries(value).flatMap(([key, figure]: [string, unknown]) => {
    const name = `${prefix}${key}`;
    if (key === "profile_top") return topRows(figure as ProfileShares["profile_top"]);
    if (isPercentiles(figure)) return [[name, `${figure.p50} (p95 ${figure.p95})`, targets[name] ?? ""]];
    if (typeof figure === "object" && figure !== null) return rowsOf(figure, `${name}.`);
    return [[name, String(figure), targets[name] ?? ""]];
  });
}

function isPercentiles(value: unknown): value is { p50: number; p95: number } {
  return typeof value === "object" && value !== null && "p50" in value && "p95" in value;
}

function topRows(top: ProfileShares["profile_top"]): string[][] {
  const placed = (file: string) => file.replace(/^.*\/(?=[^/]+\/[^/]+\/[^/]+$)/, "");
  return top.map(({ function: name, file, percent }) => [`  ${name}  ${placed(file)}`, `${percent} %`]);
}
