/**
 * Milliseconds of the machine's monotonic clock, with microseconds as decimals. All processes of a machine share it, so
 * marks from different processes can be compared.
 */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Kinds of turns: without a tool, or with one call of the node `laptop`'s tool `Glob`, which a new gateway runs without a question. */
export type TurnKind = "plain" | "tool";

/** When the driver saw the steps of a turn, in ms of `now()`. */
export interface DriverMarks {
  run: string;
  sent: number;
  /** When the node sent its result. */
  result?: number;
  final: number;
}

/** When the model server had received each request and written each answer, in ms of `now()`. */
export interface ModelMarks {
  asked: number[];
  answered: number[];
}

export type Marks = DriverMarks & ModelMarks;

/**
 * Joins the marks of the driver and the model server for the same turns.
 * @throws Error if a turn was answered without the bench's model server
 */
export function joinMarks(driven: readonly DriverMarks[], noted: Record<string, ModelMarks>): Marks[] {
  return driven.map((mark) => {
    const asked = noted[mark.run];
    if (asked === undefined) throw new Error("the gateway answered without calling the bench's model");
    return { ...asked, ...mark };
  });
}
