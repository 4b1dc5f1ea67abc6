import { canonicalJson, Interner } from "../intern.ts";
import {
  createInstance,
  type Happening,
  type Instance,
  type Program,
  type Request,
  type Rest,
} from "./process.ts";

/** A request that a program makes; equal ones are one object. */
export interface Asked {
  id: number;
  request: Request;
}

/**
 * A program that waits after a certain sequence of answers. Its state depends on nothing else, so one node represents
 * every process that got the same answers.
 */
export interface Node {
  id: number;
  program: Program;
  waiting: readonly Asked[];
  hasInterval: boolean;
  ended?: "returned" | "threw";
  error?: string;
  /** Reports since the previous node. */
  news: readonly string[];
  readClock: boolean;
  /** The previous node and its event; undefined at the start. */
  via?: { from: Node; happening: () => Happening | "start"; clock: number };
  edges: Map<string, Edge>;
}

interface Edge {
  /** The next nodes by event, for transitions that did not read the clock. */
  to?: Node;
  byClock?: Map<number, Node>;
}

/** Maximum number of running instances. Others are rebuilt by giving a new instance the same answers. */
const maxKept = 4000;

/**
 * The behaviour of programs, found by running them: the real code reaches each node once, and the result is remembered.
 * To continue from a node without a running instance, a new instance gets the answers that led there.
 */
export class Automaton {
  /** Runs of a program from its start. */
  runs = 0;
  private readonly requests = new Interner<Asked>();
  private readonly roots = new Map<string, Node>();
  private readonly knowing = new Map<string, Node>();
  /** By their text before masking, because masking is slower than the comparison. */
  private readonly asked = new Map<string, Asked>();
  private readonly kept = new Map<Node, Instance>();
  private readonly mask: (request: Request) => Request;
  private readonly mayForget: boolean;
  private nodes = 0;

  /**
   * @param mask removes the parts of a request that no decision reads, and replaces random ids by fixed names
   * @param mayForget whether processes that report the same knowledge count as one
   */
  constructor(mask: (request: Request) => Request, mayForget: boolean) {
    this.mask = mask;
    this.mayForget = mayForget;
  }

  /** The program before its start. */
  root(program: Program): Node {
    const known = this.roots.get(program.name);
    if (known) return known;
    const root: Node = {
      id: this.nodes++,
      program,
      waiting: [],
      hasInterval: false,
      news: [],
      readClock: false,
      edges: new Map(),
    };
    this.roots.set(program.name, root);
    return root;
  }

  /** The node after an event, if it is known. `name` distinguishes the events at this node. */
  known(node: Node, name: string, clock: number): Node | undefined {
    const edge = node.edges.get(name);
    return edge && (edge.to ?? edge.byClock?.get(clock));
  }

  /** Runs the program to find the node after an event. `happening` creates new values, as programs may change them. */
  async learn(node: Node, name: string, happening: () => Happening | "start", clock: number): Promise<Node> {
    const instance = await this.instanceAt(node);
    const rest = await instance.advance(happening(), clock);
    const { hasInterval, ended, error, news, readClock } = rest;
    const waiting = this.ask(rest);
    const edge: Edge = node.edges.get(name) ?? {};
    node.edges.set(name, edge);
    const lead = (to: Node) => {
      if (readClock) edge.byClock = (edge.byClock ?? new Map<number, Node>()).set(clock, to);
      else edge.to = to;
      return to;
    };
    const isTold = this.mayForget && rest.knowledge !== undefined;
    const all = isTold ? this.knowledgeName(node.program, rest, waiting) : undefined;
    const same = all === undefined ? undefined : this.knowing.get(all);
    if (same) return lead(same);
    const learnt: Node = {
      id: this.nodes++,
      program: node.program,
      waiting,
      hasInterval: hasInterval && ended === undefined,
      ended,
      error,
      news,
      readClock,
      via: { from: node, happening, clock },
      edges: new Map(),
    };
    if (learnt.waiting.length > 0 || learnt.hasInterval) this.keep(learnt, instance);
    if (all !== undefined) this.knowing.set(all, learnt);
    return lead(learnt);
  }

  /** Equal for nodes that behave alike and were reached with the same visible effects. */
  private knowledgeName(
    program: Program,
    { knowledge, news, readClock, hasInterval, ended }: Rest,
    waiting: Asked[],
  ) {
    const asked = waiting.map(({ id }) => id);
    return canonicalJson([program.name, knowledge, news, readClock, hasInterval, ended, asked]);
  }

  private ask({ waiting }: Rest): Asked[] {
    return waiting.map((request) => {
      const name = JSON.stringify(request);
      const known = this.asked.get(name);
      if (known) return known;
      const masked = this.mask(request);
      const asked = this.requests.of(JSON.stringify(masked), (id) => ({ id, request: masked }));
      this.asked.set(name, asked);
      return asked;
    });
  }

  private keep(node: Node, instance: Instance): void {
    this.kept.set(node, instance);
    const oldest = this.kept.keys().next();
    if (this.kept.size > maxKept && !oldest.done) this.kept.delete(oldest.value);
  }

  private async instanceAt(node: Node): Promise<Instance> {
    const kept = this.kept.get(node);
    if (kept) {
      this.kept.delete(node);
      return kept;
    }
    this.runs++;
    const instance = createInstance(node.program);
    for (const step of pathTo(node)) {
      const rest = await instance.advance(step.via.happening(), step.via.clock);
      // Comparing the requests is slow, and only those of the last step are answered in a new way.
      const same = step !== node || this.ask(rest).every((asked, i) => asked === step.waiting[i]);
      if (!same || rest.waiting.length !== step.waiting.length || rest.ended !== step.ended) {
        throw new Error(`${node.program.name} did something else after the same answers`);
      }
    }
    return instance;
  }
}

type Reached = Node & { via: NonNullable<Node["via"]> };

function pathTo(node: Node): Reached[] {
  const path: Reached[] = [];
  for (let at = node; at.via; at = at.via.from) path.push(at as Reached);
  return path.reverse();
}
