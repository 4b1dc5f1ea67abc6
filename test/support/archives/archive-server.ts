import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { createGuardedFetch, type GuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { newFolder } from "../run/test-folders.ts";

/** Contents by path. */
export type Tree = Record<string, string | Uint8Array>;

/** A repository's archive as GitHub makes it: git's own, with the commit in its comment and one folder at the top. */
export function gitArchive(
  tree: Tree,
  linked: Record<string, string> = {},
): { body: Buffer; commit: string } {
  const folder = newFolder();
  const git = (...args: string[]) => {
    const who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"];
    return execFileSync("git", [...who, ...args], { cwd: folder, maxBuffer: 1e9 });
  };
  git("init", "--quiet");
  for (const [path, content] of Object.entries(tree)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), content);
    if (path.endsWith(".sh")) chmodSync(join(folder, path), 0o755);
  }
  for (const [path, target] of Object.entries(linked))
    execFileSync("ln", ["-s", target, path], { cwd: folder });
  git("add", "--all", "--force");
  git("commit", "--quiet", "-m", "all");
  const commit = git("rev-parse", "HEAD").toString().trim();
  return { body: git("archive", "--format=tar.gz", `--prefix=repo-${commit}/`, "HEAD"), commit };
}

/** A server of archives, as codeload.github.com is one. */
export interface ArchiveServer {
  /** Archives by `owner/repo/tar.gz/ref`. */
  archives: Map<string, Buffer>;
  /** Paths of the requests. */
  requests: string[];
  /** The guarded fetch, for which this server is codeload.github.com. */
  fetchGuarded: GuardedFetch;
  close(): Promise<void>;
}

export async function startArchiveServer(): Promise<ArchiveServer> {
  const archives = new Map<string, Buffer>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    requests.push(path);
    const body = archives.get(path);
    response.writeHead(body ? 200 : 404, { "content-type": "application/x-gzip" });
    response.end(body ?? "404: Not Found");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const guarded = createGuardedFetch();
  return {
    archives,
    requests,
    fetchGuarded: (request) => {
      const url = request.url.replace("https://codeload.github.com", origin);
      return guarded({ ...request, url, trustedOrigins: [origin] });
    },
    close: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
