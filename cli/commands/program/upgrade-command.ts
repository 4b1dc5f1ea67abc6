import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { checkoutFolder, programFile } from "../../app/installation.ts";
import type { Action } from "../../app/program.ts";
import { version } from "../../app/version.ts";
import { programRunner, runShown } from "./run-program.ts";

export const upgrade: Action = async (context, { args: [file], options }) => {
  const check = options.check === true;
  const checkout = checkoutFolder();
  if (checkout === undefined) return upgradePackage(context, dirname(programFile()), file, check);
  if (file !== undefined)
    throw usage(`this program runs from the checkout ${checkout}, which git upgrades: gsv upgrade`);
  await upgradeCheckout(context, checkout, check);
};

/** Brings a checkout to the newest commit of its branch's origin, and installs what that needs. */
export async function upgradeCheckout(context: Context, folder: string, check: boolean): Promise<void> {
  const git = programRunner(context.terminal.env, folder);
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await git("git", args);
    if (code === 0) return stdout.trim();
    throw new Failure("git", `git ${args[0]} in ${folder}: ${stderr.replace(/\s*\n\s*/g, "; ") || "failed"}`);
  };
  const upstream = await ask("rev-parse", "--abbrev-ref", "@{upstream}").catch(() => {
    throw new Failure(
      "git",
      `${folder} follows no branch of another repository, so there is nothing to upgrade from; clone the repository, or set the branch with \`git branch --set-upstream-to\``,
    );
  });
  await ask("fetch", "--quiet");
  const commits = Number(await ask("rev-list", "--count", `HEAD..${upstream}`));
  const before = versionIn(folder);
  if (commits === 0 || check) {
    const told =
      commits === 0
        ? `gsv ${before} is the newest of ${upstream}`
        : `gsv ${before} is ${commits} ${commits === 1 ? "commit" : "commits"} behind ${upstream}; \`gsv upgrade\` brings them here`;
    context.print({ upgraded: false, folder, upstream, commits, version: before }, told);
    return;
  }
  await ask("merge", "--ff-only", "--quiet", upstream);
  context.note(`${commits} new ${commits === 1 ? "commit" : "commits"} of ${upstream}; installing packages`);
  await runShown("npm", ["ci", "--no-audit", "--no-fund", "--no-update-notifier"], {
    env: context.terminal.env,
    cwd: folder,
    kind: "npm",
  });
  const after = versionIn(folder);
  context.print(
    { upgraded: true, folder, upstream, commits, before, version: after },
    `gsv ${before} is now ${after}, ${commits} ${commits === 1 ? "commit" : "commits"} newer; ${await todoAfter(context)}`,
  );
}

/** Has npm replace an installed package of this program by the one in a file or at an https address. */
export async function upgradePackage(
  context: Context,
  folder: string,
  file: string | undefined,
  check: boolean,
): Promise<void> {
  const lib = dirname(dirname(folder));
  if (check || file === undefined)
    throw usage(
      `gsv ${version} was installed from a file; there is no registry to ask. Name the new one: gsv upgrade gsv-cli-X.Y.Z.tgz (docs/package.md tells how it is made)`,
    );
  if (basename(dirname(folder)) !== "node_modules" || basename(lib) !== "lib")
    throw new Failure(
      "installation",
      `${folder} is no global installation of npm; install ${file} there as it was installed before`,
    );
  const isAddress = /^https:\/\//.test(file);
  const source = isAddress ? file : resolve(context.terminal.cwd, file);
  // Any other word would be the name of a package of somebody else, which npm fetches from the registry.
  if (!isAddress && !(source.endsWith(".tgz") && existsSync(source)))
    throw usage(`${file} is neither a .tgz file nor an https address`);
  const before = versionIn(folder);
  await runShown(
    "npm",
    [
      "install",
      "--global",
      "--prefix",
      dirname(lib),
      "--no-audit",
      "--no-fund",
      "--no-update-notifier",
      source,
    ],
    {
      env: context.terminal.env,
      cwd: context.terminal.cwd,
      kind: "npm",
    },
  );
  const after = versionIn(folder);
  const told = after === before ? `gsv ${before} is installed anew` : `gsv ${before} is now ${after}`;
  context.print(
    { upgraded: true, folder, source, before, version: after },
    `${told}; ${await todoAfter(context)}`,
  );
}

/** The version in the manifest of a folder. This process goes on with the one that it started with. */
function versionIn(folder: string): string {
  const manifest: { version: string } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return manifest.version;
}

/** What has to be done until all parts run the new version. */
async function todoAfter(context: Context): Promise<string> {
  const { file } = await context.settings();
  const { deploy } = await readConfigFile(file);
  const restart = "restart `gsv dev` and nodes that run (`gsv node stop`, `gsv node start`)";
  return deploy?.stage === undefined ? restart : `${restart}, and \`gsv deploy\` the stage ${deploy.stage}`;
}
