import { restoreFrom } from "../../../shared/git/restore.ts";
import { commitWorkspace } from "../../../shared/git/workspace-commit.ts";
import {
  fileAt,
  repositoryPage,
  workspaceCommit,
  workspaceDiff,
  workspaceLog,
} from "../../../shared/git/workspace-history.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { countChange } from "../../../shared/recall/changes.ts";
import { defaultAgentId } from "../../../shared/session/key/routing.ts";
import { normalizeAgentId } from "../../../shared/session/key/session-key.ts";
import { askAllNodes } from "../../../shared/skills/probing.ts";
import { filePath, isMemoryPath, isSkillFile } from "../../../shared/workspace/workspace-paths.ts";
import type { Gateway, MethodTable } from "../gateway.ts";
import { writeTemplates } from "../templates.ts";

type HistoryMethod = `workspace.${"log" | "diff" | "show" | "restore" | "checkpoint" | "clone"}`;

/** The history of a workspace: docs/history.md. */
export const workspaceHistoryMethods: Pick<MethodTable, HistoryMethod> = {
  "workspace.log": {
    modes: ["client"],
    handle: async (gateway, { agentId, limit, path }) => ({
      commits: await workspaceLog(gateway.bucket, await agentOf(gateway, agentId), {
        limit,
        ...checked(path),
      }),
    }),
  },
  "workspace.diff": {
    modes: ["client"],
    handle: async (gateway, { agentId, from, to, path }) =>
      workspaceDiff(gateway.bucket, await agentOf(gateway, agentId), { from, to, ...checked(path) }),
  },
  "workspace.show": {
    modes: ["client"],
    async handle(gateway, { agentId, commit, path }) {
      const id = await agentOf(gateway, agentId);
      if (path === undefined) return workspaceCommit(gateway.bucket, id, commit);
      const file = filePath(path);
      const body = await fileAt(gateway.bucket, id, commit, file);
      return { path: file, content: textOf(file, body), size: body.length };
    },
  },
  "workspace.restore": {
    modes: ["client"],
    async handle(gateway, { agentId: named, commit, path }) {
      const agentId = await agentOf(gateway, named);
      const request = { commit, at: gateway.now(), ...checked(path) };
      const restored = await restoreFrom(gateway.bucket, agentId, request);
      await countChange(gateway.table, agentId);
      return restored;
    },
  },
  "workspace.checkpoint": {
    modes: ["client"],
    async handle(gateway, { agentId, note }) {
      const message = note === "" ? "checkpoint" : `checkpoint: ${note}`;
      return commitWorkspace(gateway.bucket, await agentOf(gateway, agentId), { message, at: gateway.now() });
    },
  },
  "workspace.clone": {
    modes: ["client"],
    handle: async (gateway, { agentId, after }) =>
      repositoryPage(gateway.bucket, await agentOf(gateway, agentId), after),
  },
};

function checked(path: string | undefined): { path?: string } {
  return path === undefined ? {} : { path: filePath(path) };
}

/** @throws PeerError 400 when the file is not text */
function textOf(path: string, body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new PeerError(code.badRequest, `path: ${path} is not text; \`gsv workspace clone\` copies it`);
  }
}

/** The normalized agent id, or the default agent's id when undefined. */
export async function agentOf(
  { configuration }: Pick<Gateway, "configuration">,
  agentId: string | undefined,
): Promise<string> {
  if (agentId !== undefined) return normalizeAgentId(agentId);
  return defaultAgentId((await configuration.load()).agents.list);
}

export const workspaceMethods: Pick<
  MethodTable,
  "workspace.list" | "workspace.read" | "workspace.write" | "workspace.delete" | "agent.init"
> = {
  "workspace.list": {
    modes: ["client"],
    handle: async (gateway, { path, agentId }) =>
      gateway.workspace.list(await agentOf(gateway, agentId), path),
  },
  "workspace.read": {
    modes: ["client"],
    handle: async (gateway, { path, agentId }) =>
      gateway.workspace.read(await agentOf(gateway, agentId), path),
  },
  "workspace.write": {
    modes: ["client"],
    async handle(gateway, { path, content, base64, agentId: named }) {
      const agentId = await agentOf(gateway, named);
      const body = content ?? Buffer.from(base64 ?? "", "base64");
      const written = await gateway.workspace.write(agentId, path, body);
      if (isSkillFile(path)) await askAllNodes(gateway, gateway.skills);
      if (isMemoryPath(path)) await countChange(gateway.table, agentId);
      return written;
    },
  },
  "workspace.delete": {
    modes: ["client"],
    async handle(gateway, { path, agentId: named }) {
      const agentId = await agentOf(gateway, named);
      const deleted = await gateway.workspace.delete(agentId, path);
      await countChange(gateway.table, agentId);
      return deleted;
    },
  },
  "agent.init": {
    modes: ["client"],
    async handle(gateway, params) {
      const agentId = await agentOf(gateway, params.agentId);
      return { agentId, written: await writeTemplates(gateway.bucket, agentId) };
    },
  },
};
