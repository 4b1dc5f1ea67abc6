/**
 * Kills a process that writes to the local table, many times, and prints what was met as JSON. Exit code 1 on a fault.
 *
 * npx tsx test/local/items/table-kill.ts [--kills 1000] [--fsync]
 */
import { parseArgs } from "node:util";
import { killWriters } from "./table-kills.ts";

const options = {
  kills: { type: "string", default: "1000" },
  fsync: { type: "boolean", default: false },
} as const;
const { kills, fsync } = parseArgs({ options }).values;
const began = Date.now();
const report = await killWriters({ kills: Number(kills), fsync, random: Math.random });
const seconds = Math.round((Date.now() - began) / 1000);
process.stdout.write(`${JSON.stringify({ ...report, seconds }, null, 2)}\n`);
process.exitCode = report.faults.length > 0 ? 1 : 0;
