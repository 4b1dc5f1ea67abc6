import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { checkoutFolder, programFile, version } from "../../app/installation.ts";
import type { Action } from "../../app/program.ts";
import { programRunner, runShown } from "./run-program.ts";

export const upgrade: Action = async (context, { args: [file], options }) => {
  const check = options.check === true;
  const checkout = checkoutFolder();
  if (checkout === undefined) return upgradePackage(context, dirname(programFile()), file, check);
  if (file !== undefined)
    throw usage(
      `this program runs from the checkout ${checkout}; upgrade it with \`gsv upgrade\`, without a file`,
    );
  await upgradeCheckout(context, checkout, check);
};

/** Updates a checkout to the newest commit of its upstream branch, and installs its packages. */
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
      `the branch of ${folder} has no upstream to upgrade from; set it with \`git branch --set-upstream-to\`, or clone the repository`,
    );
  });
  await ask("fetch", "--quiet");
  const commits = Number(await ask("rev-list", "--count", `HEAD..${upstream}`));
  const before = versionIn(folder);
  if (commits === 0 || check) {
    const message =
      commits === 0
        ? `gsv ${before} is up to date with ${upstream}`
        : `gsv ${before} is ${commits} ${commits === 1 ? "commit" : "commits"} behind ${upstream}; \`gsv upgrade\` installs them`;
    context.print({ upgraded: false, folder, upstream, commits, version: before }, message);
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

/** Replaces the installed package with the one in a file or at an https address, using npm. */
export async function upgradePackage(
  context: Context,
  folder: string,
  file: string | undefined,
  check: boolean,
): Promise<void> {
  const lib = dirname(dirname(folder));
  if (check || file === undefined)
    throw usage(
      `gsv ${version} was installed from a file, so no registry knows newer ones; name the new file: gsv upgrade gsv-cli-X.Y.Z.tgz (docs/package.md describes how to build it)`,
    );
  if (basename(dirname(folder)) !== "node_modules" || basename(lib) !== "lib")
    throw new Failure(
      "installation",
      `${folder} is not a global npm installation; install ${file} the way gsv was installed there`,
    );
  const isAddress = /^https:\/\//.test(file);
  const source = isAddress ? file : resolve(context.terminal.cwd, file);
  // npm would fetch any other word from the registry, as the name of a foreign package.
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
  const message = after === before ? `gsv ${before} was reinstalled` : `gsv ${before} is now ${after}`;
  context.print(
    { upgraded: true, folder, source, before, version: after },
    `${message}; ${await todoAfter(context)}`,
  );
}

/** The version in a folder's manifest. It may differ from the version that this process runs. */
function versionIn(folder: string): string {
  const manifest: { version: string } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return manifest.version;
}

/** The steps after which all parts run the new version. */
async function todoAfter(context: Context): Promise<string> {
  const { file } = await context.settings();
  const { deploy } = await readConfigFile(file);
  const restart = "restart `gsv dev` and running nodes (`gsv node stop`, `gsv node start`)";
  return deploy?.stage === undefined ? restart : `${restart}, and \`gsv deploy\` the stage ${deploy.stage}`;
}
