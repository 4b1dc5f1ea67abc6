import type { TableCall } from "../../local/items/table-call.ts";
import { metaKey } from "../../shared/session/state.ts";
import type { Automaton, Node } from "./model/automaton.ts";
import type { Known } from "./model/behaviour.ts";
import { isAgent } from "./model/programs.ts";
import { itemName, type Snapshot, type Snapshots, sessionKey } from "./model/snapshot.ts";
import type { Member } from "./model/world.ts";
import type { Scenario } from "./scenario.ts";

/** A write of the session that a process makes because of what it has read directly before. */
interface Reread {
  /** The process before it read. */
  reading: Node;
  writing: Node;
  /** The table when it read. */
  table: Snapshot;
}

const sessionItem = itemName(metaKey(sessionKey));

/**
 * The second reduction. A process that answers, stops or ends a wait reads the session, and then writes it under a condition.
 * The check tries the two as one step. That is the same as all orders in which others write between them, if
 *
 *   a write that still succeeds is the one that its process would make after reading again.
 *
 * For then the read can be moved to just before the write: it changes nothing, so nobody else sees the difference. And a write
 * that fails changes nothing either: its process reads again, as if the first read had not been. A death between the two has the
 * effect of one before the read.
 *
 * Nothing is assumed about the conditions. `differences` compares every such write with every state of the table that was
 * reached after the read; if one breaks the rule, the scenario is explored again with reads and writes apart. By induction on a shortest
 * schedule that breaks it, its table and its write are among those that were reached: all earlier steps could be moved.
 */
export class Rereads {
  private readonly automaton: Automaton;
  private readonly snapshots: Snapshots;
  private readonly found = new Map<string, Reread>();
  /** The tables that follow a table in one move. */
  private readonly following = new Map<Snapshot, Set<Snapshot>>();

  private readonly mutate: (call: TableCall) => TableCall;

  constructor({ automaton, snapshots }: Known, { mutate = (call) => call }: Pick<Scenario, "mutate">) {
    this.automaton = automaton;
    this.snapshots = snapshots;
    this.mutate = mutate;
  }

  /** Remembers which table a move has led to. */
  moved(from: Snapshot, to: Snapshot): void {
    if (from === to) return;
    const known = this.following.get(from);
    if (known) known.add(to);
    else this.following.set(from, new Set([to]));
  }

  /** Whether a process has just read the session and is about to write it. A repeat of its write is a step of its own. */
  isWriting(table: Snapshot, { node, repeated }: Member): boolean {
    const reading = node.via?.from;
    if (!reading || repeated >= 0 || isAgent(node.program) || node.readClock || node.hasInterval)
      return false;
    if (opOf(node) !== "update" || opOf(reading) !== "get") return false;
    this.found.set(`${reading.id} ${node.waiting[0]?.id} ${table.id}`, { reading, writing: node, table });
    return true;
  }

  /** The writes that succeed in a state that their process would not write, or not in this way. */
  async differences(clock: number): Promise<string[]> {
    const names = new Set<string>();
    for (const one of this.found.values()) {
      const { name } = one.writing.program;
      for (const table of names.has(name) ? [] : this.later(one.table))
        if (!names.has(name) && !(await this.isSame(one, table, clock))) names.add(name);
    }
    return [...names].map((name) => `${name} writes what it would not write after reading again`);
  }

  /** The tables that may follow this one, and itself. */
  private later(table: Snapshot): Set<Snapshot> {
    const all = new Set([table]);
    // A set visits what is added meanwhile.
    for (const one of all) for (const next of this.following.get(one) ?? []) all.add(next);
    return all;
  }

  private async isSame({ reading, writing }: Reread, table: Snapshot, clock: number): Promise<boolean> {
    const first = this.perform(table, writing);
    if (first.failed) return true;
    const read = this.perform(table, reading);
    const again = await this.after(reading, read, clock);
    if (opOf(again) !== "update" || again.waiting[0]?.id !== writing.waiting[0]?.id) return false;
    return this.endsAlike(
      first.table,
      await this.after(writing, first, clock),
      await this.after(again, first, clock),
      clock,
    );
  }

  /** Whether two processes make the same requests from here on, as far as nobody else writes. */
  private async endsAlike(table: Snapshot, one: Node, other: Node, clock: number): Promise<boolean> {
    for (let [at, left, right] = [table, one, other]; ; ) {
      if (left === right) return true;
      const isAlike = namesOf(left) === namesOf(right) && left.ended === right.ended;
      const [asked] = left.waiting;
      if (!isAlike || !asked) return isAlike;
      const to =
        asked.request.to === "table"
          ? this.perform(at, left)
          : { table: at, answerName: "-", answer: () => ({ value: undefined }) };
      at = to.table;
      left = await this.after(left, to, clock);
      right = await this.after(right, to, clock);
    }
  }

  private perform(table: Snapshot, { waiting: [asked] }: Node) {
    if (asked?.request.to !== "table") throw new Error("a process waits for no table");
    return this.snapshots.apply(table, asked.id, this.mutate(asked.request.call), 0);
  }

  private async after(node: Node, { answerName, answer }: Answered, clock: number): Promise<Node> {
    const name = `0${answerName}`;
    const happening = () => ({ request: 0, answer: answer() });
    return this.automaton.known(node, name, clock) ?? this.automaton.learn(node, name, happening, clock);
  }
}

type Answered = Pick<ReturnType<Snapshots["apply"]>, "answerName" | "answer">;

const namesOf = ({ waiting }: Node) => waiting.map(({ id }) => id).join();

/** What the only request of a process does with the session's item. */
function opOf({ waiting: [asked, ...others] }: Node): string | undefined {
  if (asked?.request.to !== "table" || others.length > 0) return undefined;
  const { call } = asked.request;
  if (call.op !== "get" && call.op !== "update") return undefined;
  return itemName(call.key) === sessionItem ? call.op : undefined;
}
