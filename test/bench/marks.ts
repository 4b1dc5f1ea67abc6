/**
 * Milliseconds of the machine's monotonic clock, with microseconds behind the point. All processes of a machine read the
 * same clock, so marks that were set in different processes can be compared.
 */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** What the turns of a bench are: without a tool, or with one call of the tool `Work` of the node `laptop`. */
export type TurnKind = "plain" | "tool";

/** When the driver saw the steps of a turn, ms of `now()`. */
export interface DriverMarks {
  run: string;
  sent: number;
  /** When the node sent its result. */
  result?: number;
  final: number;
}

/** When the model server saw the requests of a turn, ms of `now()`: each request complete, each answer written. */
export interface ModelMarks {
  asked: number[];
  answered: number[];
}

export type Marks = DriverMarks & ModelMarks;

/**
 * Joins what driver and model server noted of the same turns.
 * @throws Error when a turn was answered without the bench's model server
 */
export function joinMarks(driven: readonly DriverMarks[], noted: Record<string, ModelMarks>): Marks[] {
  return driven.map((mark) => {
    const asked = noted[mark.run];
    if (asked === undefined) throw new Error("the gateway has answered without asking the bench's model");
    return { ...asked, ...mark };
  });
}
