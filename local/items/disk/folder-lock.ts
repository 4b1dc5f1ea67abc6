import { once } from "node:events";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreFolderError, StoreLockedError } from "../store-errors.ts";

const attempts = 5;
/** Maximum length of a Unix socket's path on all supported systems, in bytes. */
const maxAddressBytes = 100;
const prefix = "lock-";

/**
 * Locks a folder for this process until the lock is released or the process ends, even by SIGKILL.
 *
 * Each process first listens on its own socket in the folder, then checks the other sockets. A socket that
 * accepts connections belongs to a running process: this process then releases its claim and retries a few
 * times. A socket that refuses connections is stale. Of two processes, at least one checks after both listen,
 * so both never hold the lock.
 * @returns a function that releases the lock
 * @throws StoreLockedError, StoreFolderError
 */
export async function lockFolder(dir: string): Promise<() => Promise<void>> {
  for (let attempt = 1; ; attempt++) {
    const { holder, release } = await claim(dir);
    if (holder === undefined) return release;
    await release();
    if (attempt === attempts) throw new StoreLockedError(`${dir} is in use by the process ${holder}`);
    await sleep(20 + Math.random() * 40);
  }
}

/** @returns `holder`: the process id of another claim on the folder, as text */
async function claim(dir: string): Promise<{ holder: string | undefined; release(): Promise<void> }> {
  const name = `${prefix}${process.pid}-${Math.random().toString(36).slice(2, 10)}`;
  const short = await shortPath(dir, name);
  try {
    const server = await listen(join(short.path, name));
    const release = async () => {
      server.close();
      await rm(join(dir, name), { force: true });
    };
    try {
      return { holder: await otherHolder(dir, short.path, name), release };
    } catch (error) {
      await release();
      throw error;
    }
  } finally {
    await short.remove();
  }
}

async function listen(address: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  server.listen(address);
  await once(server, "listening");
  return server.unref();
}

async function otherHolder(dir: string, short: string, own: string): Promise<string | undefined> {
  for (const name of await readdir(dir)) {
    if (!name.startsWith(prefix) || name === own) continue;
    if (await isListening(join(short, name))) return name.slice(prefix.length).split("-")[0];
    await rm(join(dir, name), { force: true });
  }
  return undefined;
}

function isListening(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== "ECONNREFUSED" && code !== "ENOENT"),
    );
  });
}

/**
 * A path of the folder that is short enough for the addresses of its sockets: `dir`, or a temporary symbolic
 * link.
 */
async function shortPath(dir: string, name: string): Promise<{ path: string; remove(): Promise<void> }> {
  if (Buffer.byteLength(join(dir, name)) <= maxAddressBytes) return { path: dir, remove: async () => {} };
  const temporary = await mkdtemp(join(tmpdir(), "gsv-lock-"));
  const path = join(temporary, "t");
  const remove = () => rm(temporary, { recursive: true, force: true });
  if (Buffer.byteLength(join(path, name)) > maxAddressBytes) {
    await remove();
    throw new StoreFolderError(`cannot lock ${dir}: the paths of it and of ${tmpdir()} are too long`);
  }
  await symlink(dir, path);
  return { path, remove };
}
