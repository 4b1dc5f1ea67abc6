import { code, PeerError } from "../protocol/errors.ts";
import { isSkillPath, promptFiles } from "./paths.ts";

/** Who reads along in a session. */
export interface Audience {
  /** The agent's main session: the owner's own. */
  mainSession: boolean;
  /** Several people read it. */
  shared: boolean;
}

/**
 * Sessions with one person: the main one, a direct message, and one that the owner's client has given a name.
 */
const privateKinds = ["main", "dm", "named"];

/**
 * The audience of a session of a kind (`sessionKind` of the session's key); a kind not known here counts as
 * shared.
 */
export function audienceOf(sessionKind: string): Audience {
  return { mainSession: sessionKind === "main", shared: !privateKinds.includes(sessionKind) };
}

/** MEMORY.md belongs to main sessions alone. */
export function seesLongTermMemory(audience: Audience): boolean {
  return audience.mainSession && !audience.shared;
}

/** Daily notes are extracted from private conversations, so they stay out of shared ones. */
export function seesDailyMemory(audience: Audience): boolean {
  return !audience.shared;
}

/**
 * The same boundary for tools: what the prompt of a session does not hold, its tools must not fetch either.
 * Session archives are private as daily notes are.
 * @throws PeerError 403
 */
export function checkReadable(audience: Audience, path: string): void {
  const name = path.toLowerCase();
  const longTerm = name === "memory.md";
  const daily = ["memory", "sessions"].some((folder) => name === folder || name.startsWith(`${folder}/`));
  if ((longTerm && !seesLongTermMemory(audience)) || (daily && !seesDailyMemory(audience))) {
    throw new PeerError(code.forbidden, `${path} is private memory and cannot be read in this conversation`);
  }
}

const promptNames = Object.values(promptFiles).map((name) => name.toLowerCase());

/**
 * What a tool may change: what it may read, but from a shared conversation nothing that enters other prompts.
 * Whoever may write there could else leave instructions for the owner's own conversations.
 * @throws PeerError 403
 */
export function checkWritable(audience: Audience, path: string): void {
  checkReadable(audience, path);
  const name = path.toLowerCase();
  if (audience.shared && (promptNames.includes(name) || isSkillPath(name)))
    throw new PeerError(
      code.forbidden,
      `${path} is part of what every conversation starts with: it cannot be changed from one that several people share; the owner changes it in a conversation of their own`,
    );
}

/**
 * The configuration tells who may write, by their ids and phone numbers.
 * @throws PeerError 403
 */
export function checkConfigurationReadable(audience: Audience): void {
  if (audience.shared)
    throw new PeerError(
      code.forbidden,
      "the configuration cannot be read in a conversation that several people share; the owner asks for it in one of their own",
    );
}
