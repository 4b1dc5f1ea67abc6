import type { TimerEvent } from "../../../shared/world/world.ts";
import { Interner } from "../intern.ts";
import type { Node } from "./automaton.ts";
import type { Snapshot } from "./snapshot.ts";

/** A process: the node of its program, and the check's own data. Equal ones are one object. */
export interface Member {
  id: number;
  node: Node;
  /** Epoch of the lease that it acquired; 0 before. */
  epoch: number;
  /** Renewals that its interval may still make. */
  renewals: number;
  /** Index of a request that took effect, lost its answer and is repeated; otherwise -1. */
  repeated: number;
}

/** The running processes, in the order of their ids. Equal ones are one object. */
export interface Crew {
  id: number;
  members: readonly Member[];
  /** Whether others wait for one's work. Work that continues after its function has ended may never finish. */
  isAtWork: boolean;
}

export interface Schedule {
  id: number;
  name: string;
  event: TimerEvent;
}

/** How often each mishap may still happen. */
export interface Mishaps {
  /** Processes that die. */
  crashes: number;
  /** Calls of AWS that fail for good, before they take effect or after. */
  failures: number;
  /** Pauses of all processes until all leases have expired. */
  pauses: number;
  /** Writes whose answer is lost, so that the SDK repeats them. */
  repeats: number;
  /** Events that are delivered twice. */
  duplicates: number;
  /** Sweeps at any moment. */
  sweeps: number;
}

/** The state outside the table and the processes. Equal ones are one object. */
export interface Outside {
  id: number;
  schedules: readonly Schedule[];
  /** Calls that the node has received, and may answer. */
  calls: readonly string[];
  /** Epoch ms. */
  clock: number;
  left: Mishaps;
  /** Whether a process died or a call failed. */
  crashed: boolean;
  /** Sweeps that came because no other move was left. */
  swept: number;
  /** The events that clients received: "final" or "error", and the run. Sorted. */
  told: readonly string[];
}

/** The whole system at one moment. */
export interface World {
  table: Snapshot;
  crew: Crew;
  outside: Outside;
}

/** More than the members of any exploration, so two of their numbers can be combined into one. */
const maxIds = 2 ** 24;

/** Makes equal parts of worlds one object. */
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
    return this.crews.of(sorted.map(({ id }) => id).join(), (id) => ({ id, members: sorted, isAtWork }));
  }

  /** The crew after one process was removed, added or replaced. */
  exchange(crew: Crew, gone: Member | undefined, come: Member | undefined): Crew {
    const members = [...crew.members];
    if (gone) members.splice(members.indexOf(gone), 1);
    if (come) members.push(come);
    return this.crew(members);
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

/** The visited worlds. */
export class Seen {
  size = 0;
  private readonly byTable: Set<number>[] = [];

  /** Returns false if it was already there. */
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
