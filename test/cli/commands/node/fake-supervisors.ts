import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Scripts in a folder for PATH that imitate `systemctl`, `loginctl` and `launchctl` as far as this program uses them. They
 * store their state in files, and print the texts of the real programs.
 */
export interface FakeSupervisors {
  env: Record<string, string>;
  /** The command line of every call so far. */
  calls(): string[];
}

const scripts = {
  systemctl: `
case "$2" in
  show-environment) [ -z "$NO_BUS" ] || { echo "Failed to connect to bus: No medium found" >&2; exit 1; };;
  restart|start) touch active;;
  stop|disable) rm -f active;;
  show)
    if [ -f active ]; then
      printf 'ActiveState=active\\nMainPID=42\\nActiveEnterTimestamp=Sun 2026-11-22 20:24:33 UTC\\n'
    else
      printf 'ActiveState=inactive\\nMainPID=0\\nActiveEnterTimestamp=\\n'
    fi
    printf 'Result=exit-code\\nExecMainStatus=1\\n';;
esac`,
  loginctl: `
case "$1" in
  show-user) if [ -f lingers ]; then echo Linger=yes; else echo Linger=no; fi;;
  enable-linger) [ -z "$NO_POLKIT" ] || { echo "Could not enable linger: Access denied" >&2; exit 1; }; touch lingers;;
esac`,
  launchctl: `
case "$1 $2" in
  print\\ gui/*/*)
    [ -f active ] || { echo "Could not find service" >&2; exit 113; }
    printf 'gsv.node = {\\n\\tstate = running\\n\\tpid = 77\\n\\tlast exit code = 1\\n}\\n';;
  bootstrap\\ *) touch active;;
  bootout\\ *) [ -f active ] || exit 3; rm active;;
esac`,
};

export function fakeSupervisors(folder: string): FakeSupervisors {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const calls = join(folder, "calls");
  writeFileSync(calls, "");
  for (const [name, script] of Object.entries(scripts)) {
    const file = join(bin, name);
    writeFileSync(file, `#!/bin/sh\ncd "${folder}"\necho "${name} $*" >> calls\n${script}\n`);
    chmodSync(file, 0o755);
  }
  return {
    env: { PATH: `${bin}:${process.env.PATH}` },
    calls: () => readFileSync(calls, "utf8").split("\n").slice(0, -1),
  };
}
