import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { code } from "../../../shared/protocol/errors.ts";
import type { ChangedFile, CommitEntry } from "../../../shared/protocol/workspace-history-schemas.ts";
import { visible } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";

const signs = { added: "A", changed: "M", removed: "D" } as const;
const short = (sha: string) => sha.slice(0, 7);
const fileLine = ({ path, change }: ChangedFile) => `  ${signs[change]} ${visible(path)}`;
const agentOf = ({ options }: Invocation) => ({ agentId: text(options.agent) });

/** The commits of a workspace, newest first. */
export const logCommits: Action = async (context, invocation) => {
  const [path] = invocation.args;
  const limit = Number(text(invocation.options.limit) ?? 20);
  if (!Number.isInteger(limit) || limit < 1) throw usage("--limit must be a whole number from 1 to 100");
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), limit, path };
  const { commits } = await gateway.request("workspace.log", asked);
  const none = "(no commits yet: the next reset or `gsv workspace checkpoint` creates the first)";
  context.print({ commits }, commits.length > 0 ? commits.map(describe).join("\n") : none);
};

/** Shows the changes since a commit, or between two. */
export const diffCommits: Action = async (context, invocation) => {
  const [from, to] = invocation.args;
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), from, to, path: text(invocation.options.path) };
  const diff = await gateway.request("workspace.diff", asked);
  const cut = diff.truncated ? "\n(truncated; `gsv workspace clone` copies everything)" : "";
  context.print(diff, diff.patch === "" ? "(no difference)" : diff.patch.trimEnd() + cut);
};

/** Shows a commit with its changes, or a file as of that commit. */
export const showCommit: Action = async (context, invocation) => {
  const [commit = "HEAD", path] = invocation.args;
  const gateway = await context.gateway();
  const shown = await gateway.request("workspace.show", { ...agentOf(invocation), commit, path });
  if ("content" in shown) context.print(shown, shown.content.replace(/\n$/, ""));
  else context.print(shown, `${describe(shown)}\n\n${shown.patch.trimEnd()}`);
};

/** Restores a file, or all files, as of a commit. */
export const restoreCommit: Action = async (context, invocation) => {
  const [commit = "", path] = invocation.args;
  if (path === undefined && invocation.options.all !== true)
    throw usage(`name the file, or restore all files: gsv workspace restore ${commit} --all`);
  const isSure = path !== undefined || invocation.options.yes === true;
  if (!isSure && !(await confirm(context.terminal, `Restore every file as of ${commit}?`)))
    throw new Failure("cancelled", "nothing was changed");
  const gateway = await context.gateway();
  const result = await gateway.request("workspace.restore", { ...agentOf(invocation), commit, path });
  const lines = [
    ...result.restored.map((one) => `restored ${visible(one)}`),
    ...result.removed.map((one) => `removed ${visible(one)}`),
  ];
  const back = result.checkpoint
    ? `To undo: gsv workspace restore ${short(result.checkpoint)} ${path ?? "--all"}`
    : "";
  context.print(
    result,
    lines.length > 0 ? [...lines, back].join("\n") : "(nothing to restore: no differences)",
  );
};

/** Commits the current state of the workspace. */
export const checkpointWorkspace: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const note = invocation.args.join(" ");
  const result = await gateway.request("workspace.checkpoint", { ...agentOf(invocation), note });
  const message = result.skipped ? "nothing has changed" : `committed ${short(result.sha ?? "")}`;
  context.print(result, message);
};

/** Copies the repository into a new folder, where git can use it. */
export const cloneWorkspace: Action = async (context, invocation) => {
  const folder = resolve(context.terminal.cwd, invocation.args[0] ?? "");
  const found = await readdir(folder).catch(() => []);
  if (found.length > 0) throw usage(`${folder} is not empty; name a new folder`);
  const gateway = await context.gateway();
  let files = 0;
  for (let after: string | undefined, isLast = false; !isLast; ) {
    const page = await gateway.request("workspace.clone", { ...agentOf(invocation), after });
    for (const { path, data } of page.files) {
      const target = join(folder, ".git", inRepository(path));
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, Buffer.from(data, "base64"));
      files++;
    }
    if (!context.json && page.next !== undefined) context.note(`${files} objects …`);
    after = page.next;
    isLast = after === undefined;
  }
  if (files === 0)
    throw new Failure(
      code.notFound,
      "the workspace has no history yet; `gsv workspace checkpoint` starts it",
    );
  const next = `git -C ${folder} checkout main   # then git log, git blame, …`;
  context.print({ folder, files }, `${files} objects in ${folder}\nNext: ${next}`);
};

/** Checks that a path from the gateway stays within the repository. @throws Failure otherwise */
function inRepository(path: string): string {
  if (path.split("/").some((part) => part === "" || part === "." || part === "..") || path.includes("\\"))
    throw new Failure(code.internal, `the gateway sent a path outside of the repository: ${visible(path)}`);
  return path;
}

function describe({ sha, at, message, files }: CommitEntry): string {
  const time = `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return [`${short(sha)}  ${time}  ${visible(message)}`, ...files.map(fileLine)].join("\n");
}
