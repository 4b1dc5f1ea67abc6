import { gunzipSync } from "node:zlib";
import { contextCalls } from "../../../shared/context/context-calls.ts";
import { viewContext } from "../../../shared/context/view.ts";
import { textKey } from "../../../shared/objects/text-store.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { partKey } from "../../../shared/session/archive.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import type { Cloud } from "../world/cloud.ts";
import type { Ledger } from "./ledger.ts";

/** Objects stay active and pinned without a limit, so the check can expect them. */
const settings = {
  rendering: "inline",
  deactivateAbove: 1,
  window: { calls: 1000, turns: 1000 },
} as const;

/** Checks that active and pinned objects are where the session says. */
export async function checkContext(
  { ledger, cloud }: { ledger: Ledger; cloud: Pick<Cloud, "bucket"> },
  state: SessionState,
  live: readonly Message[],
): Promise<void> {
  const { sessionKey, sessionId, first, head, context } = state;
  const fault = (what: string) => ledger.fault(`${sessionKey}: ${what}`);
  const agentId = agentIdOf(sessionKey);
  for (const { id, after } of context?.changes ?? [])
    if (after < first - 1 || after > head) fault(`the change of ${id} follows message ${after}`);
  const view = viewContext(live, first, context, settings);
  for (const { id, source } of view.extras) {
    // A live result that had become a reference, and was activated, is extra, too.
    if (source.kind === "call" && !view.calls.some((call) => call.id === id))
      fault(`${id} is active, but neither live nor archived`);
    if (source.kind === "file" && source.hash && !(await cloud.bucket.get(textKey(agentId, source.hash))))
      fault(`the text of ${id} was not kept`);
    if (source.kind !== "archive") continue;
    const part = await cloud.bucket.get(partKey(agentId, sessionId, source.at));
    const lines = part ? gunzipSync(part.body).toString().trimEnd().split("\n") : [];
    const messages = lines.map((line) => JSON.parse(line) as Message);
    if (contextCalls(messages).find(({ index }) => index === source.line)?.id !== id)
      fault(`${id} is not on line ${source.line} of the part of ${source.at}`);
  }
}
