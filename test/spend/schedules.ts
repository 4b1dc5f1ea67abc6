import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { openBook } from "../../shared/spend/book.ts";
import { readDay } from "../../shared/spend/day-view.ts";
import { readPaid, writePaid } from "../../shared/spend/paid.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";
import type { Table } from "../../shared/world/world.ts";
import { seededRandom } from "../support/random.ts";

/** A fault that the checks have to find. */
export type Fault = "no epoch" | "half of an interrupted call" | "plain add";

const days = ["2026-11-24", "2026-11-25"] as const;
const sessions = ["a", "b", "c", "d"];
/** Of all sessions on a day, μ$. */
const limit = 3_000_000;

/** A call as the provider bills it, μ$. */
interface Bill {
  /** Of the reservation; the last day until there is one. */
  day: string;
  price: number;
  /** The most that may be counted for it. */
  most: number;
  /** The session's item or the day's knows of it. */
  isKnown: boolean;
  isReserved: boolean;
  isAborted: boolean;
}

/** What went wrong in a schedule; `crashes`: how many holders were killed. */
export interface Verdict {
  problems: string[];
  crashes: number;
}

/**
 * Runs four sessions whose holders are killed, paused and overtaken, and whose writes are repeated or arrive late, in an order
 * that the seed decides; half of the seeds cross midnight. A session's own item is modelled as its epoch and its `paid`.
 */
export async function runSchedule(seed: number, fault?: Fault): Promise<Verdict> {
  const { integer } = seededRandom(seed);
  const random = () => integer(1_000_000) / 1_000_000;
  const chance = (share: number) => random() < share;
  const waiting: (() => void)[] = [];
  const turn = () => new Promise<void>((resolve) => waiting.push(resolve));
  const memory = createMemoryTable();
  const metas = new Map(sessions.map((key) => [key, { epoch: 0, paid: undefined as string | undefined }]));
  let crashes = 0;
  let replies = 0;
  let today: string = days[0];
  const now = () => Date.parse(`${today}T12:00:00Z`);
  const bills: Bill[] = [];
  const configuration = {
    load: async () => ({
      ...defaults,
      budgets: {
        ...defaults.budgets,
        prices: { m: { input: 10, output: 100 } },
        rules: [{ id: "day", scope: "all" as const, usd: limit / 1e6, atLimit: "refuse" as const }],
      },
    }),
  };
  const write = (...[key, steps, condition]: Parameters<Table["update"]>) =>
    memory.update(key, steps, fault === "plain add" ? undefined : condition);

  /** The table as a process sees it. A killed one never gets an answer, but its last write may arrive. */
  function tableOf(life: Life): Table {
    const dead = () => new Promise<never>(() => {});
    return {
      ...memory,
      async get(key) {
        await turn();
        return life.isDead ? dead() : memory.get(key);
      },
      async update(...call) {
        await turn();
        if (life.isDead && chance(0.5)) return dead();
        const { bill } = life;
        const isEntry = call[1].some(({ path }) => String(path).startsWith("b:"));
        const isReservation = isEntry && call[0].sk === `D#${life.day?.()}`;
        const first = write(...call).then((item) => {
          if (bill && isReservation) Object.assign(bill, { isKnown: true, isReserved: true });
          return item;
        });
        if (life.isDead) return first.then(dead, dead);
        if (!chance(0.15)) return first;
        // The answer was lost, and the SDK repeats the write.
        await first.catch(() => {});
        await turn();
        return write(...call);
      },
    };
  }

  async function hold(key: string, calls: number, life: Life): Promise<void> {
    const meta = metas.get(key)!;
    const epoch = fault === "no epoch" ? 1 : ++meta.epoch;
    const read = meta.paid;
    const halved = read && fault === "half of an interrupted call" ? half(read) : read;
    const book = openBook({ table: tableOf(life), configuration, now, tell: async () => {} });
    const account = new SessionAccount(book, key, epoch, halved);
    const dayOf = () => readPaid(account.unsaved ?? meta.paid ?? "").day;
    life.day = dayOf;
    const commit = async () => {
      const paid = account.unsaved;
      await turn();
      if (life.isDead || (fault !== "no epoch" && meta.epoch !== epoch)) throw new Error("lease lost");
      if (paid === undefined) return;
      meta.paid = paid;
      if (life.bill) life.bill.isKnown = true;
      account.saved(paid);
    };
    const occasion = { payer: { kind: "turn", agentId: "main", sessionKey: key }, model: "m" } as const;
    for (let call = 0; call < calls; call++) {
      const size = { inputTokens: 2000, maxTokens: 1000 + Math.floor(random() * 4000) };
      const most = 2000 * 20 + size.maxTokens * 100;
      life.bill = { day: days[1], price: 0, most, isKnown: false, isReserved: false, isAborted: false };
      const { bill } = life;
      bills.push(bill);
      const admission = await account.admit(occasion, size);
      if (life.isDead) break;
      if (admission.status === "refused") {
        if (!bill.isReserved) bill.most = 0;
        break;
      }
      bill.day = dayOf();
      const { hold: held, cap, reserved } = admission;
      const ask = async () => {
        const output = Math.floor(random() * (cap + 1));
        // Whatever happens to the process, the provider bills what it has begun.
        bill.price = 2000 * 10 + output * 100;
        await turn();
        return output;
      };
      const stored = reserved.then((error) => {
        bill.isAborted = error !== undefined;
      });
      const [output] = await Promise.all([ask(), commit(), stored]);
      const usage = { input: 2000, output, cacheRead: 0, cacheWrite: 0 };
      await account.charge(held, occasion, undefined, bill.isAborted ? "unknown" : usage);
      await commit();
      if (bill.isAborted) break;
      bill.most = bill.price;
      replies += 1;
    }
    await account.settle();
    await commit();
  }

  const lives: Life[] = [];
  const begin = (key: string, calls: number) => {
    const life: Life = { isDead: false };
    lives.push(life);
    return hold(key, calls, life).catch(() => {});
  };
  for (const key of sessions) begin(key, 4);
  for (let step = 0; step < 160; step++) {
    await settled();
    if (seed % 2 === 0 && step === 80) today = days[1];
    if (chance(0.06)) begin(sessions[Math.floor(random() * 4)]!, 3);
    if (chance(0.04)) {
      const life = lives[Math.floor(random() * lives.length)]!;
      if (!life.isDead) crashes += 1;
      life.isDead = true;
    }
    waiting.splice(Math.floor(random() * waiting.length), 1)[0]?.();
  }
  // Every earlier holder ends; then a last one finds what each session has left.
  const drain = async () => {
    for (await settled(); waiting.length > 0; await settled()) waiting.shift()?.();
  };
  await drain();
  for (const key of sessions) {
    begin(key, 0);
    await drain();
  }
  const problems: string[] = [];
  const paid = [...metas.values()].flatMap((meta) => (meta.paid ? [readPaid(meta.paid.split("|")[0]!)] : []));
  const sum = (amounts: readonly number[]) => amounts.reduce((total, one) => total + one, 0);
  const cost = (those: readonly Bill[]) => sum(those.map(({ price }) => price));
  for (const day of days) {
    const { sums } = await readDay(memory, day);
    const counted = sums.all ?? 0;
    const truth = sum(paid.map((one) => (one.day === day ? (one.spent.all ?? 0) : 0)));
    if (day === today && counted !== truth) problems.push(`the view has ${counted}, the sessions ${truth}`);
    const own = bills.filter((bill) => bill.day === day);
    // A call that began far from the limit, and ended before its reservation was stored.
    const unknown = cost(own.filter(({ isKnown }) => !isKnown));
    const refused = cost(own.filter(({ isReserved }) => !isReserved));
    if (cost(own) > counted + unknown)
      problems.push(`paid ${cost(own)}, counted ${counted} without ${unknown}`);
    if (cost(own) > limit + refused) problems.push(`paid ${cost(own)} of ${limit}`);
  }
  const views = await Promise.all(days.map((day) => readDay(memory, day)));
  const rows = views.flatMap((view) => [...view.rows.values()]);
  const reported = sum(rows.map(([calls = 0, , , , , , , , interrupted = 0]) => calls - interrupted));
  if (reported !== replies) problems.push(`${reported} replies are reported, ${replies} were committed`);
  const total = sum(views.map(({ sums }) => sums.all ?? 0));
  const most = sum(bills.map((bill) => bill.most));
  if (total > most) problems.push(`counted ${total} of at most ${most}`);
  return { problems, crashes };
}

/** A process, and the call that it makes. */
interface Life {
  isDead: boolean;
  bill?: Bill;
  /** The day of its account. */
  day?: () => string;
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

function half(text: string): string {
  const paid = readPaid(text);
  const { hold } = paid;
  return writePaid(hold ? { ...paid, hold: { ...hold, micros: Math.floor(hold.micros / 2) } } : paid);
}
