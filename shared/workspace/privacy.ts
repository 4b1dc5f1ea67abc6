import { code, PeerError } from "../protocol/errors.ts";
import type { Listing } from "../protocol/file-results.ts";
import { comparablePath } from "./workspace-paths.ts";

/**
 * The readers of a session: the owner in the agent's main session; the owner elsewhere; one person on a messenger; several
 * people, or a guest.
 */
export type Audience = "main" | "own" | "direct" | "shared";

const audiences = new Map<string, Audience>([
  ["main", "main"],
  // Only owners write in these: named sessions of the owner's clients, jobs of an owner, the agent's heartbeat.
  ["named", "own"],
  ["cron", "own"],
  ["system", "own"],
  ["dm", "direct"],
]);

/** The audience of a session of a kind (`sessionKind` of the session's key); an unknown kind counts as shared. */
export function audienceOf(sessionKind: string): Audience {
  return audiences.get(sessionKind) ?? "shared";
}

/** The privacy class of a workspace file. */
export type FileKind =
  /** Files that everybody may see (SOUL, IDENTITY, AGENTS, skills), and the folder `shared/`. */
  | "common"
  /** USER.md, and BOOTSTRAP.md, with which the agent gets to know its owner. */
  | "owner"
  /** Daily notes, which are extracted from private conversations. */
  | "notes"
  /** MEMORY.md, and DREAMS.md, which lists its promotions. */
  | "longTerm"
  /** Archives and large messages of all conversations. */
  | "conversations"
  /** Internal data of the gateway: history, search, objects. */
  | "internal"
  /** Every other file, including TOOLS.md and HEARTBEAT.md. */
  | "other";

const filesOfAudiences: Record<Audience, ReadonlySet<FileKind>> = {
  main: new Set(["common", "other", "notes", "owner", "longTerm", "conversations"]),
  own: new Set(["common", "other", "notes", "owner"]),
  direct: new Set(["common", "other", "notes"]),
  shared: new Set(["common"]),
};

/**
 * The kinds of files that a session may see, in its prompt and with tools (docs/decisions/private-memory.md). A file that no
 * table lists has the kind `other`, which shared sessions do not see.
 */
function visibleFiles(audience: Audience): ReadonlySet<FileKind> {
  return filesOfAudiences[audience];
}

const namedFiles = new Map<string, FileKind>([
  ["soul.md", "common"],
  ["identity.md", "common"],
  ["agents.md", "common"],
  ["user.md", "owner"],
  ["bootstrap.md", "owner"],
  ["memory.md", "longTerm"],
  ["dreams.md", "longTerm"],
]);

const folders = new Map<string, FileKind>([
  ["skills", "common"],
  ["shared", "common"],
  ["memory", "notes"],
  ["sessions", "conversations"],
  [".git", "internal"],
  ["recall", "internal"],
  ["objects", "internal"],
]);

function fileKind(path: string): FileKind {
  const name = comparablePath(path);
  const [folder = ""] = name.split("/");
  return namedFiles.get(name) ?? folders.get(folder) ?? "other";
}

/** Whether a session may see a file or folder of the workspace. */
export function isVisible(audience: Audience, path: string): boolean {
  return visibleFiles(audience).has(fileKind(path));
}

/** A folder's listing without entries that the session may not see. */
export function visibleListing(audience: Audience, listing: Listing): Listing {
  const { path, files, directories } = listing;
  const visible = (one: string) => isVisible(audience, one);
  return { path, files: files.filter(visible), directories: directories.filter(visible) };
}

/**
 * Checks that a tool may read a file or list a folder. The workspace itself may always be listed: `visibleListing` removes
 * hidden entries.
 * @throws PeerError 403
 */
export function checkReadable(audience: Audience, path: string): void {
  if (comparablePath(path) === "" || isVisible(audience, path)) return;
  const reason =
    fileKind(path) === "internal"
      ? "is internal data of the gateway and cannot be read"
      : "is private memory and cannot be read in this conversation";
  throw new PeerError(code.forbidden, `${path} ${reason}`);
}

/**
 * Checks that a path is not internal data of the gateway, which nobody may change or copy, not even clients.
 * @throws PeerError 403
 */
export function checkNotInternal(path: string): void {
  if (fileKind(path) !== "internal") return;
  throw new PeerError(code.forbidden, `${path} is internal data of the gateway and cannot be changed`);
}

/**
 * Checks that a tool may change a file. It must be readable, and in a shared conversation it must be under `shared/`: other
 * files that are readable there are part of other prompts, so that a participant could leave instructions for the owner's
 * private conversations.
 * @throws PeerError 403
 */
export function checkWritable(audience: Audience, path: string): void {
  checkReadable(audience, path);
  if (audience === "shared" && !comparablePath(path).startsWith("shared/"))
    throw new PeerError(
      code.forbidden,
      `${path} cannot be changed in a conversation that several people share; use a file under shared/. The owner can change it in their own conversation.`,
    );
}

/**
 * Refuses scheduled jobs in shared conversations: jobs contain private messages, and run with an owner's rights, so that a
 * participant's message must not create one.
 * @throws PeerError 403
 */
export function checkSchedulable(audience: Audience): void {
  if (audience === "shared")
    throw new PeerError(
      code.forbidden,
      "scheduled jobs cannot be used in a conversation that several people share; the owner can use them in their own conversation",
    );
}

/**
 * Refuses to show the configuration in shared conversations, because it contains ids and phone numbers.
 * @throws PeerError 403
 */
export function checkConfigurationReadable(audience: Audience): void {
  if (audience === "shared")
    throw new PeerError(
      code.forbidden,
      "the configuration cannot be read in a conversation that several people share; the owner can read it in their own conversation",
    );
}
