import { code, PeerError } from "../protocol/errors.ts";
import { isSkillPath, promptFiles, withoutLeadingSlash } from "./workspace-paths.ts";

/** The readers of a session. */
export interface Audience {
  /** The agent's main session, which only the owner uses. */
  mainSession: boolean;
  /** Several people read it. */
  shared: boolean;
}

/**
 * Kinds of sessions that nobody but an owner writes in: main, direct message, named (created by the owner's client), those
 * of scheduled jobs, which owners add, and system (an agent's heartbeat; no message of a channel has that kind).
 */
const privateKinds = ["main", "dm", "named", "cron", "system"];

/**
 * The audience of a session of a kind (`sessionKind` of the session's key); an unknown kind counts as shared.
 */
export function audienceOf(sessionKind: string): Audience {
  return { mainSession: sessionKind === "main", shared: !privateKinds.includes(sessionKind) };
}

/**
 * USER.md is about the owner, HEARTBEAT.md says what is looked after for the owner, and BOOTSTRAP.md makes the owner's
 * acquaintance: all three stay out of shared sessions.
 */
export function seesOwner(audience: Audience): boolean {
  return !audience.shared;
}

/** MEMORY.md is visible in main sessions only. */
export function seesLongTermMemory(audience: Audience): boolean {
  return audience.mainSession && !audience.shared;
}

/** Daily notes are extracted from private conversations, so they stay out of shared ones. */
export function seesDailyMemory(audience: Audience): boolean {
  return !audience.shared;
}

/**
 * Applies the same limits to tools: they must not read files that are excluded from the session's prompt.
 * Session archives are as private as daily notes.
 * @throws PeerError 403
 */
export function checkReadable(audience: Audience, path: string): void {
  const name = nameOf(path);
  const longTerm = name === "memory.md";
  const daily = ["memory", "sessions"].some((folder) => name === folder || name.startsWith(`${folder}/`));
  const ofOwner = ["user.md", "heartbeat.md", "bootstrap.md"].includes(name);
  if (
    (longTerm && !seesLongTermMemory(audience)) ||
    (daily && !seesDailyMemory(audience)) ||
    (ofOwner && !seesOwner(audience))
  ) {
    throw new PeerError(code.forbidden, `${path} is private memory and cannot be read in this conversation`);
  }
}

/** A path as these rules compare it: however a file is named, they hold. */
function nameOf(path: string): string {
  return withoutLeadingSlash(path).toLowerCase();
}

const promptNames = Object.values(promptFiles).map((name) => name.toLowerCase());

/**
 * Checks that a tool may change a file. It must be readable, and in a shared conversation it must not be part
 * of other prompts: a participant could otherwise leave instructions for the owner's private conversations.
 * @throws PeerError 403
 */
export function checkWritable(audience: Audience, path: string): void {
  checkReadable(audience, path);
  const name = nameOf(path);
  if (audience.shared && (promptNames.includes(name) || isSkillPath(name)))
    throw new PeerError(
      code.forbidden,
      `${path} is part of what every conversation starts with: it cannot be changed from one that several people share; the owner changes it in a conversation of their own`,
    );
}

/**
 * Refuses scheduled jobs in shared conversations: they hold private messages, and each is worked on with an owner's rights,
 * so what a participant has written must not lead to one.
 * @throws PeerError 403
 */
export function checkSchedulable(audience: Audience): void {
  if (audience.shared)
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
  if (audience.shared)
    throw new PeerError(
      code.forbidden,
      "the configuration cannot be read in a conversation that several people share; the owner asks for it in one of their own",
    );
}
