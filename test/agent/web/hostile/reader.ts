import type { LookupAddress } from "node:dns";
import { isIP, Socket } from "node:net";
import tls from "node:tls";
import { gunzipSync } from "node:zlib";
import type { ToolCallContext } from "../../../../functions/agent/tools/native/native-tool.ts";
import { webFetch } from "../../../../functions/agent/tools/native/web-tools.ts";
import { createGuardedFetch } from "../../../../shared/http/guarded-fetch.ts";
import { certificate } from "./certificate.ts";
import { type HostileCase, hostOf, indexOf, privateNames, type Report } from "./hostile-case.ts";
import { hostileCases } from "./hostile-cases.ts";

/**
 * A process of its own, with the memory of a small function, that opens each hostile address with the tool. All its connections
 * end at the hostile server, whatever address they were opened to: that address is recorded.
 */

/** Pages that are opened at once. */
const lanes = 8;

const [tlsPort = 0, barePort = 0] = process.argv.slice(2).map(Number);
const questions = new Map<string, number>();
/** Of each case: the addresses that were dialled, and the sockets. */
const dialled = new Map<number, { addresses: string[]; sockets: Socket[] }>();

function resolve(
  hostname: string,
  _options: unknown,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
): void {
  const { dns = [["93.184.216.34"]] } = hostileCases[indexOf(hostname)] ?? {};
  const asked = questions.get(hostname) ?? 0;
  questions.set(hostname, asked + 1);
  const known = Object.hasOwn(privateNames, hostname) ? [privateNames[hostname] ?? ""] : undefined;
  const answer = known ?? (indexOf(hostname) < 0 ? "ENOTFOUND" : dns[Math.min(asked, dns.length - 1)]);
  if (answer === undefined) return;
  if (typeof answer === "string") done(Object.assign(new Error(answer), { code: answer }), []);
  else
    done(
      null,
      answer.map((address) => ({ address, family: isIP(address.replace(/%.*/, "")) || 4 })),
    );
}

interface Dial {
  host: string;
  lookup?: (host: string, options: { all?: boolean }, done: (...found: unknown[]) => void) => void;
}

const connect = Socket.prototype.connect;
Socket.prototype.connect = function dial(this: Socket, ...args: unknown[]) {
  const [options, ...rest] = (Array.isArray(args[0]) ? args[0] : args) as [Dial, ...unknown[]];
  const index = current.get(options.host) ?? indexOf(options.host);
  const known = dialled.get(index) ?? { addresses: [], sockets: [] };
  dialled.set(index, known);
  known.sockets.push(this);
  const { lookup } = options;
  const isLiteral = isIP(options.host) !== 0;
  if (isLiteral || !lookup) known.addresses.push(isLiteral ? options.host : `unchecked ${options.host}`);
  const checked: Dial["lookup"] = (host, how, done) =>
    lookup?.(host, how, (error, found) => {
      if (error) return done(error, "");
      const addresses = Array.isArray(found) ? found.map(({ address }) => address) : [found];
      known.addresses.push(...addresses);
      done(null, how.all ? [{ address: "127.0.0.1", family: 4 }] : "127.0.0.1", 4);
    });
  const port = hostileCases[index]?.bare ? barePort : tlsPort;
  const here = isLiteral || !lookup ? { host: "127.0.0.1", lookup: undefined } : { lookup: checked };
  return connect.call(this, { ...options, ...here, port } as never, ...(rest as []));
} as typeof connect;

const secure = tls.connect;
tls.connect = ((options: object, ...rest: []) =>
  secure({ ...options, ca: certificate }, ...rest)) as typeof tls.connect;

/** Hosts without the case's own name that are being opened. */
const current = new Map<string, number>();

async function open({ url = "https://{host}/", timeoutMs }: HostileCase, index: number): Promise<Report> {
  const guardedFetch = createGuardedFetch({ resolve });
  let kept = 0;
  const agent = {
    guardedFetch: (request: Parameters<typeof guardedFetch>[0]) =>
      guardedFetch({ ...request, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    now: () => 1,
    bucket: {
      get: async () => undefined,
      async put(_key: string, body: Buffer) {
        const { text, title } = JSON.parse(gunzipSync(body).toString());
        kept = text.length + title.length;
      },
    },
  };
  const turn = { agentId: "main", isPrivate: false };
  const address = url.replaceAll("{host}", hostOf(index));
  const host = URL.canParse(address) ? new URL(address).hostname : "";
  if (indexOf(host) < 0) current.set(host, index);
  const begun = performance.now();
  const outcome = await webFetch.run(
    { url: address } as never,
    { agent, turn } as unknown as ToolCallContext,
  );
  const ms = performance.now() - begun;
  const { addresses = [], sockets = [] } = dialled.get(index) ?? {};
  const ok = "ok" in outcome && outcome.ok;
  return {
    ...{ index, ok, kept, ms, dialled: addresses },
    said: "error" in outcome ? outcome.error : JSON.stringify(outcome),
    bytesRead: sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    peak: process.resourceUsage().maxRSS * 1024,
  };
}

// The timers of time limits alone do not keep a process alive.
const alive = setInterval(() => {}, 1000);
const reports: Report[] = [];
const all = hostileCases.map((one, index) => ({ one, index }));
const queue = all.filter(({ one }) => !one.isHeavy);
const work = async (waiting: typeof all) => {
  for (let next = waiting.shift(); next; next = waiting.shift())
    reports.push(await open(next.one, next.index));
};
await Promise.all(Array.from({ length: lanes }, () => work(queue)));
await work(all.filter(({ one }) => one.isHeavy));
clearInterval(alive);
const { userCPUTime, systemCPUTime } = process.resourceUsage();
process.send?.({ reports, cpuMs: (userCPUTime + systemCPUTime) / 1000 }, () => process.disconnect());
