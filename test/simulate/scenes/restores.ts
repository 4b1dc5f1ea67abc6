import { workspaceHistoryMethods } from "../../../functions/socket/methods/workspace.ts";
import { blobsOf, listCommits } from "../../../shared/git/commits.ts";
import { openRepository } from "../../../shared/git/repository.ts";
import { commitWorkspace } from "../../../shared/git/workspace-commit.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { World } from "../../../shared/world/world.ts";
import type { SceneAction } from "../load/actions.ts";
import { gatewayOf } from "./gateway.ts";
import type { Scene, Stage } from "./scene.ts";

export const restoreActions = [
  "edit",
  "edit",
  "edit",
  "edit",
  "restore",
  "restore",
  "restoreOne",
  "checkpoint",
];

/** Not the agent whose memories the scene of memories checks: a restore brings back what was forgotten. */
const agentId = "b";
const paths = ["plans/one.md", "plans/two.md"];
const { "workspace.restore": restore } = workspaceHistoryMethods;

/** People append lines to files, commit them, and restore earlier versions at the same time. */
export function createRestores({ ledger, peers, cloud, timeline }: Stage): Scene {
  /** Appended lines, by path, whose requests were acknowledged. */
  const lines: { path: string; line: string }[] = [];
  /** Edits that begin while a restore writes. */
  const waiting: (() => Promise<void>)[] = [];
  const commits: string[] = [];
  const fault = (what: string) => ledger.fault(`restores: ${what}`);
  const repository = () => openRepository(cloud.bucket, agentId);
  const history = async () => {
    const head = await repository().head();
    return head ? listCommits(repository(), Number.POSITIVE_INFINITY, head.sha) : [];
  };
  const edit = (path: string, line: string) => (world: World) =>
    gatewayOf(world).workspace.append(agentId, path, `${line}\n`);
  const commit = async (id: string) => {
    await peers.insist(id, async (world) => {
      const { sha } = await commitWorkspace(world.bucket, agentId, { message: id, at: world.now() });
      if (sha !== undefined) commits.push(sha);
    });
  };
  return {
    async prepare() {
      for (const path of paths) await edit(path, `the start of ${path}`)(cloud.direct);
      await commitWorkspace(cloud.bucket, agentId, { message: "the start", at: timeline.now });
    },
    async perform({ does, value }: SceneAction, id: string) {
      const path = paths[value % paths.length] ?? "";
      const begin = async () => {
        if (await peers.insist(id, edit(path, id))) lines.push({ path, line: id });
      };
      if (does === "edit") {
        if (value % 3 === 0) await begin();
        else waiting.push(begin);
      } else if (does === "checkpoint") await commit(id);
      else {
        const all = await history();
        const { sha = "HEAD" } = all[value % Math.max(1, all.length)] ?? {};
        const which = { commit: sha, agentId, ...(does === "restoreOne" ? { path } : {}) };
        for (const edited of waiting.splice(0)) timeline.after(timeline.jitter(700), () => void edited());
        await peers.insist(id, async (world) => {
          try {
            await restore.handle(gatewayOf(world), which, {} as never);
          } catch (error) {
            // The commit does not have the file, or others keep changing it.
            const isFinal =
              error instanceof PeerError && [code.notFound, code.conflict].includes(error.code as never);
            if (!isFinal) throw error;
          }
        });
      }
    },
    written() {},
    async calm() {
      for (const edited of waiting.splice(0)) void edited();
    },
    isQuiet: () => true,
    async rest() {
      const all = await history();
      const known = new Set(all.map(({ sha }) => sha));
      for (const sha of commits) if (!known.has(sha)) fault(`the commit ${sha} was lost`);
      const texts = new Map(
        paths.map((path) => [path, [cloud.bucket.peek(`agents/${agentId}/${path}`) ?? ""]]),
      );
      for (const { tree } of all)
        for (const [path, blob] of await blobsOf(repository(), tree))
          texts.get(path)?.push((await repository().readBlob(blob)).toString());
      for (const { path, line } of lines)
        if (!texts.get(path)?.some((text) => text.includes(`${line}\n`)))
          fault(`the line ${line} of ${path} is neither in the file nor in a commit`);
    },
  };
}
