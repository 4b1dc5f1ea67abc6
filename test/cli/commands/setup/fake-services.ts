/** An HTTP answer. Status 200 unless it says otherwise. */
export interface Answer {
  status?: number;
  type: string;
  body: string;
}

/** A call: its operation, and its effect with the answer. */
export interface FakeCall {
  operation: string;
  run(): Answer;
}

export interface FakeStack {
  status: string;
  outputs: Record<string, string>;
  resources: { type: string; name: string }[];
  /** A resource whose deletion fails, with the reason. */
  undeletable: { name: string; reason: string } | undefined;
}

/** What exists in the account. */
export interface FakeState {
  stacks: Map<string, FakeStack>;
  parameters: Map<string, string>;
  tables: Set<string>;
  /** Versions of objects and delete markers, as `key@version`, by bucket. */
  buckets: Map<string, Set<string>>;
  /** Tags by ARN. They remain listed after a resource is deleted, as in AWS for some time. */
  tags: Map<string, Record<string, string>>;
  /** The origins that may use a bucket from a page, by bucket. */
  cors: Map<string, string>;
  /** One page of a list: 0 to 10 items of a random order, and the token of the next page. */
  page<T>(items: readonly T[], token: string | undefined): { items: T[]; next: string | undefined };
}

export function emptyState(seed: number): FakeState {
  const random = randomFrom(seed);
  const lists: unknown[][] = [];
  return {
    stacks: new Map(),
    parameters: new Map(),
    tables: new Set(),
    buckets: new Map(),
    tags: new Map(),
    cors: new Map(),
    page<T>(items: readonly T[], token: string | undefined) {
      const [list = 0, start = 0] = token?.split("-").map(Number) ?? [
        lists.push(shuffled(items, random)) - 1,
        0,
      ];
      const ordered = lists[list] as T[];
      const end = start + Math.floor(random() * 11);
      // The last page may also be an empty one.
      const isLast = end >= ordered.length && random() < 0.7;
      return { items: ordered.slice(start, end), next: isLast ? undefined : `${list}-${end}` };
    },
  };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => [random(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}

/** Random numbers from 0 to 1 (a linear congruential generator). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
