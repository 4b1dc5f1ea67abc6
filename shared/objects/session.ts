import type { SessionFields, SessionObject, StaticRef } from "../protocol/objects.ts";
import { chatId, sessionObjectId } from "./chat.ts";
import { withHashes } from "./hash.ts";

/** The objects whose content the model sees, does not see, and is kept seeing, by their ids. */
export interface ObjectSets {
  active: readonly string[];
  inactive: readonly string[];
  pinned: readonly string[];
}

/** A version of a session. */
export function sessionObject(
  { sessionKey, sessionId }: { sessionKey: string; sessionId: string },
  { version_no, at }: { version_no: number; at: number },
  prompts: readonly StaticRef[],
  { active, inactive, pinned }: ObjectSets,
): SessionObject {
  const fields: SessionFields = {
    id: sessionObjectId(sessionKey),
    type: "session",
    content: null,
    locked: true,
    provenance: { origin: "gsv", generator: "system" },
    version_no,
    at,
    harness: "gsv",
    session_id: sessionId,
    chat_ref: chatId(sessionId),
    system_prompt_refs: [...prompts],
    active_set: [...active],
    inactive_set: [...inactive],
    pinned_set: [...pinned],
  };
  return withHashes(fields);
}
