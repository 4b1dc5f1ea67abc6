import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { code } from "../../../shared/protocol/errors.ts";
import { editorOf, runEditor } from "../../app/external-editor.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { isInteractive, type Terminal, writeText } from "../../app/terminal.ts";
import { RequestError } from "../../gateway/connection.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

export const listFiles: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const listing = await gateway.request("workspace.list", {
    path: invocation.args[0] ?? "",
    agentId: agentOf(invocation),
  });
  const names = [...listing.directories.map((name) => `${name.replace(/\/$/, "")}/`), ...listing.files];
  context.print(listing, names.length > 0 ? names.join("\n") : "(empty)");
};

export const printFile: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const file = await gateway.request("workspace.read", target(invocation));
  // Without a line break at the end, so that redirected output equals the file.
  if (context.json) context.print(file, "");
  else writeText(context.terminal.stdout, file.content);
};

export const putFile: Action = async (context, invocation) => {
  const content = await contentOf(invocation.args[1], context.terminal);
  const gateway = await context.gateway();
  const result = await gateway.request("workspace.write", { ...target(invocation), content });
  context.print(result, `${result.path}: ${result.size} bytes written`);
};

export const removeFile: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const result = await gateway.request("workspace.delete", target(invocation));
  if (!result.deleted)
    throw new Failure(code.notFound, `${result.path}: no such file; \`gsv workspace ls\` shows the files`);
  context.print(result, `deleted ${result.path}`);
};

export const editFile: Action = async (context, invocation) => {
  const { path, agentId } = target(invocation);
  if (!isInteractive(context.terminal))
    throw usage(`the editor needs a terminal; without one, use: gsv workspace put ${path} < file`);
  const editor = editorOf(context.terminal);
  const gateway = await context.gateway();
  const before = await readOrEmpty(gateway, path, agentId);
  const folder = await mkdtemp(join(tmpdir(), "gsv-edit-"));
  const file = join(folder, basename(path));
  let isKept = false;
  try {
    await writeFile(file, before, { mode: 0o600 });
    await runEditor(editor, file);
    const after = await readFile(file, "utf8");
    if (after === before) return context.print({ path, written: false }, `${path} is unchanged`);
    // Keep the user's text when saving fails.
    isKept = true;
    await writeBack(gateway, { path, agentId, content: after }, before);
    isKept = false;
    context.print({ path, size: Buffer.byteLength(after), written: true }, `saved ${path}`);
  } finally {
    if (isKept) context.note(`gsv: your text is kept in ${file}`);
    else await rm(folder, { recursive: true, force: true });
  }
};

function agentOf({ options }: Invocation): string | undefined {
  return text(options.agent);
}

function target(invocation: Invocation): { path: string; agentId: string | undefined } {
  return { path: invocation.args[0] ?? "", agentId: agentOf(invocation) };
}

async function contentOf(file: string | undefined, terminal: Terminal): Promise<string> {
  if (file !== undefined && file !== "-") return readFile(resolve(terminal.cwd, file), "utf8");
  if (terminal.stdin.isTTY) throw usage("name a local file, or send the content on standard input");
  const chunks: Uint8Array[] = [];
  for await (const chunk of terminal.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

/** Reads a file; a missing file is empty. */
async function readOrEmpty(gateway: Gateway, path: string, agentId: string | undefined): Promise<string> {
  try {
    return (await gateway.request("workspace.read", { path, agentId })).content;
  } catch (error) {
    if (error instanceof RequestError && error.code === code.notFound) return "";
    throw error;
  }
}

/**
 * Saves the file. Throws RequestError `conflict` when another writer changed it meanwhile, such as the agent.
 */
async function writeBack(
  gateway: Gateway,
  file: { path: string; agentId: string | undefined; content: string },
  before: string,
): Promise<void> {
  if ((await readOrEmpty(gateway, file.path, file.agentId)) !== before)
    throw new RequestError(
      code.conflict,
      `${file.path} has changed at the gateway while you edited; edit it again`,
    );
  await gateway.request("workspace.write", file);
}
