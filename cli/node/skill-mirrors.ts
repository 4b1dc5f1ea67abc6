import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Method, ParamsInput } from "../../shared/protocol/methods.ts";
import type { Results } from "../../shared/protocol/results.ts";
import type { MirroredFile } from "../../shared/protocol/skill-schemas.ts";
import { filePath } from "../../shared/workspace/workspace-paths.ts";
import { callStorage } from "../gateway/large-payloads.ts";

/** Folders of skills, relative to the home folder. The gateway names them so in prompts. */
const mirrorsFolder = ".cache/gsv/skills";

/** A folder of a skill in a call's arguments: agent, name, hash. */
const folderPattern =
  /\.cache\/gsv\/skills\/([a-z0-9][a-z0-9_-]{0,63})\/([a-z0-9][a-z0-9_-]{0,63})-([0-9a-f]{16})/g;

/** Number of files fetched in parallel, and the timeout of one attempt in milliseconds. */
const fetchedAtOnce = 4;
const fetchMs = 60_000;

/** Age since their last use at which folders are removed, in ms: another version of a mirrored skill, and any folder. */
const oldVersionMs = 3_600_000;
const unusedMs = 7 * 86_400_000;

interface SkillMirrorsOptions {
  gateway: { request<M extends Method>(method: M, params: ParamsInput<M>): Promise<Results[M]> };
  /** Home folder of the commands. */
  home: string;
  log(line: string): void;
}

interface Mirror {
  agentId: string;
  name: string;
  hash: string;
}

/**
 * The skills' folders of this machine. A call whose arguments name a folder that does not exist has it fetched first; its name
 * contains the hash of its files, so nothing is fetched twice.
 */
export class SkillMirrors {
  readonly #options: SkillMirrorsOptions;
  readonly #fetching = new Map<string, Promise<void>>();

  constructor(options: SkillMirrorsOptions) {
    this.#options = options;
  }

  /** Provides the folders that a call's arguments name. @throws Error when one cannot be fetched */
  async provide(args: unknown, signal: AbortSignal): Promise<void> {
    const named = [...JSON.stringify(args ?? null).matchAll(folderPattern)];
    for (const [, agentId = "", name = "", hash = ""] of named) {
      const folder = join(this.#options.home, mirrorsFolder, agentId, `${name}-${hash}`);
      const isThere = await utimes(folder, new Date(), new Date()).then(
        () => true,
        () => false,
      );
      if (!isThere) await this.#fetchOnce(folder, { agentId, name, hash }, signal);
    }
  }

  async #fetchOnce(folder: string, mirror: Mirror, signal: AbortSignal): Promise<void> {
    const running =
      this.#fetching.get(folder) ??
      this.#fetch(folder, mirror, signal).finally(() => this.#fetching.delete(folder));
    this.#fetching.set(folder, running);
    await running;
  }

  async #fetch(folder: string, mirror: Mirror, signal: AbortSignal): Promise<void> {
    const { gateway, log } = this.#options;
    const { files } = await gateway.request("skills.files", mirror);
    const parent = dirname(folder);
    const unfinished = join(parent, `.new-${randomBytes(6).toString("hex")}`);
    try {
      for (let start = 0; start < files.length; start += fetchedAtOnce)
        await Promise.all(
          files.slice(start, start + fetchedAtOnce).map((file) => fetchFile(unfinished, file, signal)),
        );
      // A file may have changed while it was fetched: then the gateway refuses the hash.
      await gateway.request("skills.files", mirror);
      await rename(unfinished, folder);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
    log(`fetched ${files.length} files of the skill ${mirror.name} of ${mirror.agentId}`);
    await removeOld(join(this.#options.home, mirrorsFolder), folder, Date.now());
  }
}

/** A file that begins with `#!` may be executed. */
async function fetchFile(
  folder: string,
  { path, size, url }: MirroredFile,
  signal: AbortSignal,
): Promise<void> {
  const target = join(folder, filePath(path));
  const limits = { timeoutMs: fetchMs, signal };
  const body = await callStorage(url, { method: "GET" }, limits, Buffer.alloc(size));
  if (body.byteLength !== size)
    throw new Error(`${path} of the skill has ${body.byteLength} bytes, not ${size}`);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, body, { mode: body.toString("latin1", 0, 2) === "#!" ? 0o755 : 0o644 });
}

/** Removes folders that are no longer needed: other versions of the fetched one, and all that were not used for long. */
async function removeOld(base: string, fetched: string, now: number): Promise<void> {
  const skill = fetched.slice(0, fetched.lastIndexOf("-"));
  for (const agent of await readdir(base).catch(() => [])) {
    for (const name of await readdir(join(base, agent)).catch(() => [])) {
      const folder = join(base, agent, name);
      const isOther = folder.slice(0, folder.lastIndexOf("-")) === skill || name.startsWith(".new-");
      const unused = now - ((await stat(folder).catch(() => undefined))?.mtimeMs ?? now);
      if (folder !== fetched && unused > (isOther ? oldVersionMs : unusedMs))
        await rm(folder, { recursive: true, force: true });
    }
  }
}
