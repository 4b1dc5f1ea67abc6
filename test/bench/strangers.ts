import { pathToFileURL } from "node:url";
import { createSocketHandler } from "../../functions/socket/socket-handler.ts";
import { createTimerHandler } from "../../functions/timer/timer-handler.ts";
import { memoryMegabytes } from "../../infra/constructs/gateway-functions.ts";
import { createMemoryStore } from "../../local/items/item-store.ts";
import { tableOver } from "../../local/world/local-table.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import type { Bucket, Presigner, Table, TimerEvent, World } from "../../shared/world/world.ts";
import { delays } from "./deployed/latency.ts";
import { prices } from "./deployed/prices.ts";

const eventTypes: Record<string, string> = { $connect: "CONNECT", $disconnect: "DISCONNECT" };

/**
 * What strangers' sockets cost: 10,000 sockets without a token, a hundred a second, through the real functions
 * over a table in memory. Counted are the calls; priced are these, the Lambda time that they take at the
 * delays of the real services, the log lines, and the connection minutes.
 * Run: npx tsx test/bench/strangers.ts
 */
const sockets = 10_000;
const everyMs = 10;
/** Frames that a socket of the kind "talks" sends, unless it is closed before. */
const framesSent = 20;
/** Size of Lambda's own log lines for an invocation (START, END and REPORT), in bytes. */
const platformLogBytes = 350;
/** An invocation's own work, ms. */
const ownMs = 3;
/** The Scheduler fires up to a minute late: half a minute on average, in ms. */
const schedulerLateMs = 30_000;

interface Bill {
  invocations: number;
  lambdaGbMs: number;
  writes: number;
  reads: number;
  schedules: number;
  messages: number;
  minutes: number;
  logBytes: number;
}

type Kind = "silent" | "talks" | "refused without a header";

async function run(kind: Kind): Promise<Bill> {
  const bill: Bill = {
    ...{ invocations: 0, lambdaGbMs: 0, writes: 0, reads: 0, schedules: 0, messages: 0, minutes: 0 },
    logBytes: 0,
  };
  const restore = setLogOutput((line) => {
    bill.logBytes += Buffer.byteLength(line) + 1;
  });
  let clock = Math.ceil(Date.now() / 60_000) * 60_000;
  let ms = 0;
  const due: { at: number; event: TimerEvent }[] = [];
  const names = new Set<string>();
  const opened = new Map<string, number>();
  const ended: string[] = [];
  const world: World = {
    table: priced(tableOver(createMemoryStore()), bill, (each) => {
      ms += each;
    }),
    bucket: {} as Bucket,
    gatewayUrl: "wss://gateway.example/ws",
    presigner: {} as Presigner,
    secrets: { get: async () => undefined, put: async () => {}, delete: async () => {} },
    sockets: {
      async post() {
        ms += delays.connections;
        bill.messages++;
        return "sent";
      },
      async close(id) {
        ms += delays.connections;
        ended.push(id);
      },
    },
    schedules: {
      async once(name, at, event) {
        ms += delays.scheduler;
        if (names.has(name)) return;
        names.add(name);
        bill.schedules++;
        due.push({ at: at + schedulerLateMs, event });
      },
    },
    wake: async () => {},
    requiresHeader: kind === "refused without a header",
    now: () => clock,
    pause: async () => true,
  };
  const context = { awsRequestId: "c6af9ac6-7b61-11e6-9a41-93e8deadbeef" } as never;
  const invoke = async (megabytes: number, call: () => Promise<unknown>): Promise<unknown> => {
    ms = ownMs;
    const result = await call();
    bill.invocations++;
    bill.lambdaGbMs += (megabytes / 1024) * ms;
    bill.logBytes += platformLogBytes;
    return result;
  };
  const socketHandler = createSocketHandler(world);
  const timerHandler = createTimerHandler(world);
  const send = (routeKey: string, connectionId: string, more: object = {}) => {
    const connectedAt = opened.get(connectionId) ?? clock;
    const event = {
      requestContext: { routeKey, eventType: eventTypes[routeKey] ?? "MESSAGE", connectionId, connectedAt },
      ...more,
    };
    return invoke(memoryMegabytes.socket, () => socketHandler(event as never, context));
  };
  const disconnectEnded = async () => {
    for (const id of ended.splice(0)) {
      bill.minutes += (clock - (opened.get(id) ?? clock)) / 60_000;
      await send("$disconnect", id);
      opened.delete(id);
    }
  };
  const fireDue = async () => {
    while (due[0] && due[0].at <= clock) {
      const { event } = due.shift() as { event: TimerEvent };
      await invoke(memoryMegabytes.timer, () => timerHandler(event as never, context));
      await disconnectEnded();
    }
  };
  for (let count = 0; count < sockets; count++) {
    const id = `L0SM9cOFvHc${String(count).padStart(5, "0")}`;
    opened.set(id, clock);
    const answer = (await send("$connect", id, { headers: {} })) as { statusCode: number };
    if (answer.statusCode !== 200) opened.delete(id);
    for (let sent = 0; kind === "talks" && sent < framesSent && ended.length === 0; sent++) {
      bill.messages++;
      const body = JSON.stringify({ type: "req", id: String(sent), method: "chat.send", params: {} });
      await send("$default", id, { body });
    }
    await disconnectEnded();
    clock += everyMs;
    await fireDue();
  }
  while (due[0]) {
    clock = due[0].at;
    await fireDue();
  }
  restore();
  return bill;
}

function priced(table: Table, bill: Bill, took: (ms: number) => void): Table {
  const counted = <A extends unknown[], T>(unit: "reads" | "writes", call: (...args: A) => T) => {
    return (...args: A): T => {
      bill[unit]++;
      took(delays.dynamodbItem);
      return call(...args);
    };
  };
  return {
    get: counted("reads", table.get),
    put: counted("writes", table.put),
    update: counted("writes", table.update),
    delete: counted("writes", table.delete),
    query: async (query) => {
      const items = await table.query(query);
      bill.reads += Math.max(1, Math.ceil(Buffer.byteLength(JSON.stringify(items)) / 4096));
      took(delays.dynamodbQuery);
      return items;
    },
    queryIndex: counted("reads", table.queryIndex),
  };
}

/** US dollars per million sockets, by service. */
function perMillion(bill: Bill): Record<string, number> {
  const parts = {
    lambda: bill.invocations * prices.lambdaInvocation + (bill.lambdaGbMs / 1000) * prices.lambdaGbSecond,
    dynamodb: bill.writes * prices.dynamodbWrite + bill.reads * prices.dynamodbRead,
    scheduler: bill.schedules * prices.schedulerInvocation,
    websocket: bill.messages * prices.webSocketMessage + bill.minutes * prices.webSocketMinute,
    logs: (bill.logBytes / 1e9) * prices.logsGb,
  };
  const all = Object.values(parts).reduce((sum, usd) => sum + usd, 0);
  const scale = 1e6 / sockets;
  return Object.fromEntries(
    Object.entries({ ...parts, all }).map(([name, usd]) => [name, Math.round(usd * scale * 100) / 100]),
  );
}

async function main(): Promise<void> {
  const kinds: Kind[] = ["silent", "talks", "refused without a header"];
  const perSecond = (usd: number, rate: number) => Math.round((usd / 1e6) * rate * 86_400 * 100) / 100;
  for (const kind of kinds) {
    const usd_per_million = perMillion(await run(kind));
    const { all = 0 } = usd_per_million;
    const usd_per_day = { at_100_a_second: perSecond(all, 100), at_10_a_second: perSecond(all, 10) };
    console.log(JSON.stringify({ kind, usd_per_million, usd_per_day }));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
