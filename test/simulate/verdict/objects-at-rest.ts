import { gunzipSync } from "node:zlib";
import { contentHash, objectHash } from "../../../shared/objects/hash.ts";
import { objectsOf } from "../../../shared/objects/object-entries.ts";
import { textKey } from "../../../shared/objects/text-store.ts";
import { resultsById, toMessages, toTurns } from "../../../shared/objects/turns.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import type { Cloud } from "../world/cloud.ts";
import type { Ledger } from "./ledger.ts";

/** `faults`: the number of faults in the schedule. */
interface Kept {
  ledger: Ledger;
  cloud: Pick<Cloud, "bucket">;
  faults: number;
}

/** Checks the sources of objects: a conversation's messages, and the texts of its prompts. */
export async function checkObjects(
  { ledger, cloud, faults }: Kept,
  { sessionKey, promptHash }: SessionState,
  sessionId: string,
  messages: readonly Message[],
): Promise<void> {
  const agentId = agentIdOf(sessionKey);
  const again = toMessages(toTurns(messages), resultsById(messages));
  if (JSON.stringify(again) !== JSON.stringify(messages))
    ledger.fault(`${sessionKey}: turns lose messages of ${sessionId}`);
  const setsAt = () => ({ active: [], inactive: [], pinned: [] });
  const conversation = { agentId, sessionKey, sessionId, messages, prompts: new Map(), setsAt };
  for (const { id, moments, build } of objectsOf(conversation)) {
    const object = build(moments.at(-1)?.version_no ?? 1);
    if (object.object_hash !== objectHash(object))
      ledger.fault(`${sessionKey}: the hash of ${id} is another`);
  }
  const used = messages.flatMap((one) =>
    one.role === "assistant" && one.context ? [one.context.prompt] : [],
  );
  const isNoted = (hash: string) => promptHash !== undefined && hash.startsWith(promptHash);
  const noted = promptHash === undefined ? [] : [textKey(agentId, promptHash)];
  for (const key of noted)
    if (!cloud.bucket.keys().some((one) => one.startsWith(key)))
      ledger.fault(`${sessionKey}: the text of the newest prompt ${promptHash} was not stored`);
  for (const hash of new Set(used)) {
    const stored = await cloud.bucket.get(textKey(agentId, hash));
    if (stored && contentHash(gunzipSync(stored.body).toString()) !== hash)
      ledger.fault(`${sessionKey}: the text of the prompt ${hash} is wrong`);
    // A failure to store a text does not prevent the answer.
    const mustBeStored = faults === 0 || isNoted(hash);
    if (!stored && mustBeStored) ledger.fault(`${sessionKey}: the text of the prompt ${hash} was not stored`);
  }
}
