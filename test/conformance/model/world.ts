import type { TimerEvent } from "../../../shared/world/world.ts";
import { Interner } from "../intern.ts";
import type { Node } from "./automaton.ts";
import type { Snapshot } from "./snapshot.ts";

/** A process: where its program is, and what the check knows of it besides. Equal ones are one object. */
export interface Member {
  id: number;
  node: Node;
  /** Of the lease that it took; 0 before. */
  epoch: number;
  /** Renewals that its interval may still make. */
  renewals: number;
  /** The place of a request that has taken effect already, its answer lost, and is made again; else -1. */
  repeated: number;
}

/** The processes that run, in the order of their ids. Equal ones are one object. */
export interface Crew {
  id: number;
  members: readonly Member[];
  /** Whether any of them still does what others wait for. What outlives its function's end may never happen. */
  isAtWork: boolean;
  /** The crews that differ from it in one process, by what has left and what has come. */
  next: Map<number, Crew>;
}

export interface Schedule {
  id: number;
  name: string;
  event: Extract<TimerEvent, { kind: "tool-timeout" }>;
}

/** What may still go wrong, by number of times. */
export interface Mishaps {
  /** Processes that die. */
  crashes: number;
  /** Calls of AWS that fail for good, before they take effect or after. */
  failures: number;
  /** Times that everybody stands still until all leases have run out. */
  pauses: number;
  /** Writes whose answer is lost, so that the SDK makes them again. */
  repeats: number;
  /** Events that are delivered twice. */
  duplicates: number;
  /** Sweeps at any moment. */
  sweeps: number;
}

/** What there is besides the table and the processes. Equal ones are one object. */
export interface Outside {
  id: number;
  schedules: readonly Schedule[];
  /** Calls that the node has been sent, and may answer. */
  calls: readonly string[];
  /** Epoch ms. */
  clock: number;
  left: Mishaps;
  /** Whether something died or failed. */
  crashed: boolean;
  /** Sweeps that came when nothing else was left to happen. */
  swept: number;
  /** What clients were told: "final" or "error", and the run. Sorted. */
  told: readonly string[];
}

/** The whole system at one moment. */
export interface World {
  table: Snapshot;
  crew: Crew;
  outside: Outside;
}

/** More members than any exploration meets, so that two of their numbers make one. */
const maxIds = 2 ** 24;

/** Makes equal parts of worlds one object each. */
export class Parts {
  private readonly members = new Interner<Member>();
  private readonly crews = new Interner<Crew>();
  private readonly outsides = new Interner<Outside>();
  private readonly schedules = new Interner<Schedule>();

  member({ node, epoch, renewals, repeated }: Omit<Member, "id">): Member {
    const name = `${node.id}.${epoch}.${renewals}.${repeated}`;
    return this.members.of(name, (id) => ({ id, node, epoch, renewals, repeated }));
  }

  crew(members: readonly Member[]): Crew {
    const sorted = [...members].sort((a, b) => a.id - b.id);
    const isAtWork = sorted.some(({ node }) => node.ended === undefined);
    return this.crews.of(sorted.map(({ id }) => id).join(), (id) => ({
      id,
      members: sorted,
      isAtWork,
      next: new Map(),
    }));
  }

  /** The crew after one process has gone, one has come, or one has become another. */
  exchange(crew: Crew, gone: Member | undefined, come: Member | undefined): Crew {
    const name = (gone ? gone.id + 1 : 0) * maxIds + (come ? come.id + 1 : 0);
    const known = crew.next.get(name);
    if (known) return known;
    const members = [...crew.members];
    if (gone) members.splice(members.indexOf(gone), 1);
    if (come) members.push(come);
    const next = this.crew(members);
    crew.next.set(name, next);
    return next;
  }

  outside(parts: Omit<Outside, "id">): Outside {
    const { schedules, calls, clock, left, crashed, swept, told } = parts;
    const mishaps = Object.values(left).join(".");
    const name = [schedules.map(({ id }) => id), calls, clock, mishaps, crashed, swept, told].join("|");
    return this.outsides.of(name, (id) => ({ id, schedules, calls, clock, left, crashed, swept, told }));
  }

  schedule(name: string, event: Schedule["event"]): Schedule {
    return this.schedules.of(name, (id) => ({ id, name, event }));
  }
}

/** The worlds that have been seen. */
export class Seen {
  size = 0;
  private readonly byTable: Set<number>[] = [];

  /** False when it was there already. */
  add({ table, crew, outside }: World): boolean {
    let known = this.byTable[table.id];
    if (!known) {
      known = new Set();
      this.byTable[table.id] = known;
    }
    const before = known.size;
    known.add(outside.id * maxIds + crew.id);
    if (known.size === before) return false;
    this.size++;
    return true;
  }
}
