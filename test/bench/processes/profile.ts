import { once } from "node:events";
import type { Profiler } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";
import { until } from "../../support/until.ts";
import { round } from "../figures.ts";
import { originOf } from "./code-origin.ts";
import type { GatewayProcess } from "./gateway-process.ts";

type CallFrame = Profiler.Profile["nodes"][number]["callFrame"];

/** The position of a function: the original file, even if a bundle runs. */
interface Place {
  name: string;
  file: string;
}

/** The owner of a function's code; the first match counts. */
const parts: [part: string, fits: (place: Place) => boolean][] = [
  ["idle", ({ name }) => name === "(idle)"],
  ["garbage collector", ({ name }) => name === "(garbage collector)"],
  ["AWS SDK", ({ file }) => /node_modules\/(@aws-sdk|@smithy|@aws)\//.test(file)],
  ["model client (pi-ai, openai)", ({ file }) => /node_modules\/(openai|@earendil-works)\//.test(file)],
  ["ws", ({ file }) => /node_modules\/ws\//.test(file)],
  ["TypeScript loader", ({ file }) => /node_modules\/(tsx|esbuild)\//.test(file)],
  ["other packages", ({ file }) => file.includes("node_modules/")],
  ["functions", ({ file }) => /(^|\/)functions\//.test(file)],
  ["shared", ({ file }) => /(^|\/)shared\//.test(file)],
  ["local world", ({ file }) => /(^|\/)local\//.test(file)],
  ["cli", ({ file }) => /(^|\/)cli\//.test(file)],
  [
    "Node's HTTP and streams",
    ({ file }) =>
      /^node:(_http|http|net|internal\/(http|stream|webstreams|deps\/undici))|^node:stream/.test(file),
  ],
  ["Node, the rest of its library", ({ file }) => file.startsWith("node:")],
  ["native: sockets, JSON, regular expressions", () => true],
];

/** Percentages of the time in which the gateway's main thread was not idle. */
export interface ProfileShares {
  profile_percent: Record<string, number>;
  /** The functions with the largest self time. */
  profile_top: { function: string; file: string; percent: number }[];
}

/** Profiles the main thread of a gateway during `run`. The gateway must be inspectable. */
export async function profiled(gateway: GatewayProcess, run: () => Promise<unknown>): Promise<ProfileShares> {
  process.kill(gateway.pid, "SIGUSR1");
  const listening = /Debugger listening on (ws:\S+)/;
  const url = await until(() => listening.exec(gateway.errors())?.[1], "the gateway can be inspected");
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 2 ** 30 });
  await once(socket, "open");
  await post(socket, 1, "Profiler.enable");
  await post(socket, 2, "Profiler.start");
  await run();
  const { profile } = (await post(socket, 3, "Profiler.stop")) as { profile: Profiler.Profile };
  socket.close();
  return sharesOf(profile);
}

/** Makes one call of the inspector's protocol, and returns its result. */
async function post(socket: WebSocket, id: number, method: string): Promise<unknown> {
  socket.send(JSON.stringify({ id, method }));
  for (;;) {
    const [data] = (await once(socket, "message")) as [WebSocket.RawData];
    const message = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (message.id === id) return message.result;
  }
}

function sharesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): ProfileShares {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const byPart = new Map<string, number>();
  const byPlace = new Map<string, number>();
  let busy = 0;
  for (const [i, sample] of samples.entries()) {
    const place = places.get(sample) ?? { name: "", file: "" };
    const part = parts.find(([, fits]) => fits(place))?.[0] ?? "";
    if (part === "idle") continue;
    const time = timeDeltas[i] ?? 0;
    busy += time;
    byPart.set(part, (byPart.get(part) ?? 0) + time);
    const key = `${place.name}\n${place.file}`;
    byPlace.set(key, (byPlace.get(key) ?? 0) + time);
  }
  const shares = (times: Map<string, number>) =>
    [...times]
      .sort(([, a], [, b]) => b - a)
      .map(([key, time]) => [key, round((100 * time) / busy, 1)] as const);
  return {
    profile_percent: Object.fromEntries(shares(byPart)),
    profile_top: shares(byPlace)
      .slice(0, 25)
      .map(([key, percent]) => {
        const [name = "", file = ""] = key.split("\n");
        return { function: name, file, percent };
      }),
  };
}

function placeOf({ functionName, url, lineNumber, columnNumber }: CallFrame): Place {
  const name = functionName || "(anonymous)";
  if (!url.startsWith("file:")) return { name, file: url };
  const file = fileURLToPath(url);
  return { name, file: originOf(file, lineNumber, columnNumber) ?? file };
}
