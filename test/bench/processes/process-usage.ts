import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Resources of a process and its descendants. */
export interface Usage {
  /** Resident memory, MiB. */
  rssMb: number;
  /** CPU time since the start, user and system, of all threads, in ms. */
  cpuMs: number;
}

interface Listed extends Usage {
  pid: number;
  parent: number;
}

/** Linux counts CPU time in hundredths of a second on every architecture that Node runs on. */
const msPerTick = 10;

/** Reads /proc on Linux, and `ps` elsewhere. */
export function usageOf(pid: number): Usage {
  const all = process.platform === "linux" ? fromProc() : fromPs();
  const family = new Set([pid]);
  // A child may be listed before its parent.
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const one of all) if (family.has(one.parent)) family.add(one.pid);
  }
  const sum = { rssMb: 0, cpuMs: 0 };
  for (const one of all) {
    if (!family.has(one.pid)) continue;
    sum.rssMb += one.rssMb;
    sum.cpuMs += one.cpuMs;
  }
  return sum;
}

function fromProc(): Listed[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // The command's name may contain spaces. After its bracket come state and parent, 11 fields later the
      // CPU times.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const status = readFileSync(`/proc/${name}/status`, "utf8");
      const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
      const cpuMs = (Number(fields[11]) + Number(fields[12])) * msPerTick;
      return [{ pid: Number(name), parent: Number(fields[1]), rssMb: kilobytes / 1024, cpuMs }];
    } catch {
      // It ended between the listing and the reading.
      return [];
    }
  });
}

function fromPs(): Listed[] {
  const output = execFileSync("ps", ["-A", "-o", "pid=,ppid=,rss=,time="], { encoding: "utf8" });
  return output
    .trim()
    .split("\n")
    .map((line) => {
      const [pid, parent, kilobytes, time = ""] = line.trim().split(/\s+/);
      const cpuMs = millisecondsOf(time);
      return { pid: Number(pid), parent: Number(parent), rssMb: Number(kilobytes) / 1024, cpuMs };
    });
}

/** `[[days-]hours:]minutes:seconds[.hundredths]` in ms. */
function millisecondsOf(time: string): number {
  const [clock = "", days = "0"] = time.split("-").reverse();
  const seconds = clock.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  return (Number(days) * 86_400 + seconds) * 1000;
}
