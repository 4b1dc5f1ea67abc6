/**
 * CPU time of the start, and resident memory, of `gsv dev` on a folder with many messages:
 * `npx tsx test/bench/long-folder.ts 10000 100000`. Half of the messages are answers of 900 characters, half are questions of
 * 200; a thousand belong to each session.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { openDurableStore } from "../../local/items/disk/durable-store.ts";
import { tableOver } from "../../local/world/local-table.ts";
import { messageKey, metaKey, newSession } from "../../shared/session/state.ts";
import { startGsv } from "../cli/gsv-process.ts";
import { makeFolder } from "./processes/children.ts";
import { usageOf } from "./processes/process-usage.ts";

const perSession = 1000;

async function fill(dir: string, count: number): Promise<void> {
  const store = await openDurableStore({ dir: join(dir, "table"), expiryMs: 3_600_000 });
  const table = tableOver(store);
  const words = (length: number) => "The boiler was seen to in May. ".repeat(length).slice(0, length);
  for (let n = 0; n < count; n++) {
    const sessionKey = `agent:main:s${Math.floor(n / perSession)}`;
    const sessionId = `id-${sessionKey}`;
    const seq = (n % perSession) + 1;
    const message =
      n % 2 === 0
        ? { role: "user", content: `${n} ${words(200)}`, timestamp: n }
        : { role: "assistant", content: [{ type: "text", text: `${n} ${words(900)}` }], timestamp: n };
    await table.put({ ...messageKey(sessionKey, sessionId, seq), epoch: 1, body: JSON.stringify(message) });
    if (seq === perSession || n === count - 1)
      await table.put({
        ...metaKey(sessionKey),
        ...newSession(sessionKey, sessionId, n),
        head: seq,
      } as never);
  }
  await store.close();
}

for (const count of process.argv.slice(2).map(Number)) {
  const home = makeFolder(`long-${count}`);
  await fill(join(home, ".gsv"), count);
  const times: number[] = [];
  const memory: number[] = [];
  for (let start = 0; start < 4; start++) {
    const gsv = startGsv(home, ["dev", "--serve", "--json"]);
    await gsv.prints(/\}\n/);
    const { cpuMs, rssMb } = usageOf(gsv.child.pid ?? 0);
    times.push(cpuMs);
    memory.push(rssMb);
    gsv.child.kill("SIGINT");
    await gsv.ended;
  }
  const median = (all: number[]) => all.slice(1).sort((a, b) => a - b)[1] ?? 0;
  console.log(
    `${count} messages: ready after ${median(times)} ms of CPU time, ${Math.round(median(memory))} MiB`,
  );
  rmSync(home, { recursive: true, force: true });
}
