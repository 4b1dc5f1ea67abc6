import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { openDurableStore } from "../../../local/items/disk/durable-store.ts";
import type { ItemStore } from "../../../local/items/item-store.ts";
import type { Item } from "../../../shared/world/world.ts";
import { bundleProgram } from "../../support/run/bundle-program.ts";
import { itemAt, keyAt } from "./table-history.ts";

export interface KillOptions {
  kills: number;
  /** Sync before a write is acknowledged: in all rounds, or in every third one. */
  fsync: boolean;
  /** From 0 to 1; the moments of the kills are taken from it. */
  random: () => number;
}

/** What the kills met. */
export interface KillReport {
  kills: number;
  acknowledged: number;
  /** Writes that were not acknowledged, and were there all the same. */
  foundBesides: number;
  /** Kills before the table was open. */
  whileStarting: number;
  /** Kills that left a snapshot behind that was not complete, or not in use yet. */
  whileSnapshotting: number;
  /** Kills that left a record behind that was cut off. */
  tornRecords: number;
  /** What was lost, halved or out of step; empty when all is well. */
  faults: string[];
}

const items = 12;

/** Kills a process that writes to a table, again and again, and checks each time what the table holds. */
export async function killWriters({ kills, fsync, random }: KillOptions): Promise<KillReport> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-kills-"));
  const report: KillReport = {
    ...{ kills: 0, acknowledged: 0, foundBesides: 0, whileStarting: 0, whileSnapshotting: 0, tornRecords: 0 },
    faults: [],
  };
  const table = join(dir, "table");
  try {
    const writer = await bundleProgram(new URL("table-writer.ts", import.meta.url), dir);
    let versions = Array<number>(items).fill(0);
    for (; report.kills < kills && report.faults.length === 0; report.kills++) {
      const syncs = fsync || report.kills % 3 === 2;
      // Small logs, so that most rounds make several snapshots.
      const options = { fsync: syncs, logBytes: report.kills % 4 === 3 ? 10_000_000 : 20_000, versions };
      const acknowledged = await killOne([writer, table, JSON.stringify(options)], versions, random, report);
      await lookAtFiles(table, report);
      versions = await check(table, acknowledged, report);
    }
    return report;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** @returns the versions that were acknowledged */
async function killOne(
  argv: string[],
  versions: readonly number[],
  random: () => number,
  report: KillReport,
): Promise<number[]> {
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  const printed = text(child.stdout);
  const exited = once(child, "exit");
  if (random() < 0.8) await Promise.race([once(child.stdout, "data"), exited]);
  await sleep(random() * 40);
  child.kill("SIGKILL");
  const [code] = await exited;
  if (code !== null) report.faults.push(`the writer ended by itself, with ${code}`);
  const [ready, ...lines] = (await printed).split("\n").slice(0, -1);
  if (ready === undefined) report.whileStarting++;
  const acknowledged = [...versions];
  for (const line of lines) {
    const [item, version] = line.split(" ").map(Number) as [number, number];
    acknowledged[item] = version;
    report.acknowledged++;
  }
  return acknowledged;
}

async function lookAtFiles(table: string, report: KillReport): Promise<void> {
  const names = await readdir(table).catch(() => []);
  const logs = names.filter((name) => name.startsWith("log-"));
  if (logs.length > 1) report.whileSnapshotting++;
  for (const log of logs) {
    const bytes = await readFile(join(table, log));
    if (bytes.length > 0 && bytes.at(-1) !== 10) report.tornRecords++;
  }
}

/** Opens the table that the kill left behind. @returns the version that each item has */
async function check(table: string, acknowledged: readonly number[], report: KillReport): Promise<number[]> {
  const store = await openDurableStore({ dir: table });
  try {
    const versions = acknowledged.map((version, item) => foundVersion(store, item, version, report));
    checkIndex(store, report);
    return versions;
  } finally {
    await store.close();
  }
}

/** The write behind the last acknowledged one may have taken place or not. */
function foundVersion(store: ItemStore, item: number, version: number, report: KillReport): number {
  const { pk, sk, ...found }: Item = store.get(keyAt(item)) ?? {};
  const holds = (one: number) => JSON.stringify(found) === JSON.stringify(itemAt(item, one) ?? {});
  if (holds(version)) return version;
  if (holds(version + 1)) {
    report.foundBesides++;
    return version + 1;
  }
  report.faults.push(`item ${item} is not as version ${version}: ${JSON.stringify(found).slice(0, 200)}`);
  return version;
}

function checkIndex(store: ItemStore, report: KillReport): void {
  const all = [...store.all()];
  for (const pk of ["D#0", "D#1", "D#2"]) {
    const rows = [...store.indexRange({ index: "due", pk })];
    const expected = all
      .filter(({ duePk }) => duePk === pk)
      .sort((a, b) => Number(a.dueAt) - Number(b.dueAt));
    const inStep =
      rows.length === expected.length && rows.every(({ dueAt }, i) => dueAt === expected[i]?.dueAt);
    if (!inStep) report.faults.push(`the index ${pk} is not in step with the table`);
  }
}
