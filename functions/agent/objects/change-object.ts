import type { ContextChange } from "../../../shared/context/activation.ts";
import { type ContextView, contextSettings, viewContext } from "../../../shared/context/view.ts";
import { sha256 } from "../../../shared/objects/hash.ts";
import { storeText } from "../../../shared/objects/text-store.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import type { Agent } from "../agent.ts";
import { tokenRate } from "../context/context-size.ts";
import { type FoundObject, findObject, type ObjectSearch } from "./find-object.ts";

/** A requested change of an object. */
export type ContextAction = "activate" | "deactivate" | "pin" | "unpin";

/** A change of an object, with a note for the requester. `change` is absent if nothing changes. */
export interface ChangedObject {
  id: string;
  change?: ContextChange;
  note: string;
  /** Whose words the object contains, besides the owner's; of a result, the conversation's. */
  origins?: string[] | undefined;
}

type Stores = Pick<Agent, "bucket" | "configuration" | "workspace">;

/** All active and pinned objects together may fill at most this part of the model's window. */
const maxOfWindow = 1 / 4;

/**
 * Plans a change of a session's object. The only write is the text of a pinned file, which a repeat writes again.
 * @param contextWindow of the model, in tokens
 * @throws PeerError 404 for an unknown object, 409 for a locked or pending one, 413 when there is no room for it
 */
export async function changeObject(
  agent: Stores,
  search: ObjectSearch & { contextWindow: number },
  action: ContextAction,
  given: string,
): Promise<ChangedObject> {
  const { state, messages } = search;
  const settings = contextSettings(await agent.configuration.load(), agentIdOf(state.sessionKey));
  const view = viewContext(messages, state.first, state.context, settings);
  const found = await findObject(agent, search, given);
  if (found.status === "missing") throw new PeerError(code.notFound, `Object not found: ${given}`);
  if (found.status === "locked")
    throw new PeerError(code.conflict, `Object is locked: the model always sees ${given}`);
  if (found.status === "pending")
    throw new PeerError(code.conflict, `Object has no content yet: the call ${given} has no result so far`);
  const { id } = found;
  if (action === "deactivate")
    return { id, change: { id, state: "inactive" }, note: "The next model call does not contain it" };
  if (action === "unpin") return { id, change: { id, state: "automatic" }, note: "No longer pinned" };
  if (found.status === "no text") return { id, note: found.why };
  const characters = found.text.length;
  checkRoom(
    view,
    { id, characters },
    (search.contextWindow * maxOfWindow) / tokenRate(state.tokensPerCharacter),
  );
  const { title, origins } = found;
  if (action === "activate") {
    const { turns } = settings.window;
    const note = `In the next model call, for this turn and the ${turns - 1} after it; pin it to keep it longer`;
    return { id, change: { id, state: "active", title, source: found.source, characters }, note, origins };
  }
  const source = await pinnedSource(agent, search, found);
  return {
    id,
    change: { id, state: "pinned", title, source, characters },
    note: "In every model call until it is unpinned",
    origins,
  };
}

function checkRoom(
  view: ContextView,
  { id, characters }: { id: string; characters: number },
  room: number,
): void {
  const shown = new Set(view.extras.map((object) => object.id));
  for (const call of view.active) shown.add(call.id);
  const others = [...view.activation.on.values()].filter(
    (object) => object.id !== id && shown.has(object.id),
  );
  const taken = others.reduce((sum, object) => sum + object.characters, 0);
  if (taken + characters <= room) return;
  const more = taken > 0 ? `, and the active objects have ${taken} already; deactivate some` : "";
  throw new PeerError(
    code.tooLarge,
    `No room for ${id}: it has ${characters} characters; the limit is ${Math.floor(room)}${more}`,
  );
}

/** A file is pinned as it is now. */
async function pinnedSource(
  { bucket }: Stores,
  { state }: ObjectSearch,
  { source, text }: Extract<FoundObject, { status: "found" }>,
) {
  if (source.kind !== "file") return source;
  const hash = sha256(text);
  await storeText(bucket, agentIdOf(state.sessionKey), { hash, text });
  return { ...source, hash };
}
