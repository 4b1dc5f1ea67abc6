import { code, PeerError } from "../protocol/errors.ts";
import type { Listing } from "../protocol/results.ts";
import { withoutLeadingSlash } from "./workspace-paths.ts";

/**
 * The readers of a session: the owner in the agent's main session; the owner elsewhere; one person on a messenger; several
 * people, or a guest.
 */
export type Audience = "main" | "own" | "direct" | "shared";

const audiences = new Map<string, Audience>([
  ["main", "main"],
  // Nobody but an owner writes in these: named ones by the owner's client, jobs of an owner, the agent's heartbeat.
  ["named", "own"],
  ["cron", "own"],
  ["system", "own"],
  ["dm", "direct"],
]);

/** The audience of a session of a kind (`sessionKind` of the session's key); an unknown kind counts as shared. */
export function audienceOf(sessionKind: string): Audience {
  return audiences.get(sessionKind) ?? "shared";
}

/** What a file of the workspace is, as far as privacy is concerned. */
export type FileKind =
  /** What the agent shows of itself to everybody (SOUL, IDENTITY, AGENTS, skills), and the folder `shared/`. */
  | "common"
  /** USER.md, and BOOTSTRAP.md, which makes the owner's acquaintance. */
  | "owner"
  /** Notes of days: they are extracted from private conversations. */
  | "notes"
  /** MEMORY.md, and DREAMS.md, which says what went into it. */
  | "longTerm"
  /** Archives and large messages of all conversations. */
  | "conversations"
  /** What the gateway keeps in the workspace's folder for itself: history, search, objects. */
  | "internal"
  /** Every other file, TOOLS.md and HEARTBEAT.md among them. */
  | "other";

const filesOfAudiences: Record<Audience, ReadonlySet<FileKind>> = {
  main: new Set(["common", "other", "notes", "owner", "longTerm", "conversations"]),
  own: new Set(["common", "other", "notes", "owner"]),
  direct: new Set(["common", "other", "notes"]),
  shared: new Set(["common"]),
};

/**
 * What a session may see of its agent's workspace, in its prompt and by tools (docs/decisions/private-memory.md). A file
 * that is new to this table is of the kind `other`, which shared sessions do not see.
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
  const name = nameOf(path);
  const [folder = ""] = name.split("/");
  return namedFiles.get(name) ?? folders.get(folder) ?? "other";
}

/** Whether a session sees a file, or a folder, of the workspace. */
export function isVisible(audience: Audience, path: string): boolean {
  return visibleFiles(audience).has(fileKind(path));
}

/** What a session sees of a folder's listing. */
export function visibleListing(audience: Audience, listing: Listing): Listing {
  const { path, files, directories } = listing;
  const visible = (one: string) => isVisible(audience, one);
  return { path, files: files.filter(visible), directories: directories.filter(visible) };
}

/**
 * Checks that a tool may read a file, or list a folder. The workspace itself may always be listed: `visibleListing` leaves
 * out what the session does not see.
 * @throws PeerError 403
 */
export function checkReadable(audience: Audience, path: string): void {
  if (nameOf(path) === "" || isVisible(audience, path)) return;
  const reason =
    fileKind(path) === "internal"
      ? "is kept by the gateway for itself and cannot be read"
      : "is private memory and cannot be read in this conversation";
  throw new PeerError(code.forbidden, `${path} ${reason}`);
}

/**
 * Checks that nobody changes or copies what the gateway keeps in the workspace's folder for itself, clients included.
 * @throws PeerError 403
 */
export function checkNotInternal(path: string): void {
  if (fileKind(path) !== "internal") return;
  throw new PeerError(code.forbidden, `${path} is kept by the gateway for itself and cannot be changed`);
}

/** A path as these rules compare it: however a file is named, they hold. */
function nameOf(path: string): string {
  return withoutLeadingSlash(path).toLowerCase();
}

/**
 * Checks that a tool may change a file. It must be readable, and in a shared conversation it must lie under `shared/`: what
 * else is readable there is part of other prompts, so that a participant could leave instructions for the owner's private
 * conversations.
 * @throws PeerError 403
 */
export function checkWritable(audience: Audience, path: string): void {
  checkReadable(audience, path);
  if (audience === "shared" && !nameOf(path).startsWith("shared/"))
    throw new PeerError(
      code.forbidden,
      `${path} cannot be changed from a conversation that several people share: only files under shared/ can; the owner changes it in a conversation of their own`,
    );
}

/**
 * Refuses scheduled jobs in shared conversations: they hold private messages, and each is worked on with an owner's rights,
 * so what a participant has written must not lead to one.
 * @throws PeerError 403
 */
export function checkSchedulable(audience: Audience): void {
  if (audience === "shared")
    throw new PeerError(
      code.forbidden,
      "scheduled jobs cannot be used in a conversation that several people share; the owner does it in one of their own",
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
      "the configuration cannot be read in a conversation that several people share; the owner asks for it in one of their own",
    );
}
