import { type ClientChange, maxClientChanges } from "../../../shared/context/activation.ts";
import { joinOrigins } from "../../../shared/origins/origins.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { ContextChanged } from "../../../shared/protocol/session-results.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { effectiveModel } from "../../../shared/session/commands/model-choice.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { sessionKind } from "../../../shared/session/key/session-key.ts";
import { assign, type SessionState } from "../../../shared/session/state.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";
import { describeModel } from "../model/resolve-model.ts";
import { originsOf } from "../origins-of.ts";
import { answerEntry, refuseEntry } from "../reply/request-reply.ts";
import type { SessionWriter } from "../session-writer.ts";
import { type ChangedObject, type ContextAction, changeObject } from "./change-object.ts";

/** A client's request to show an object to the model, or to hide it. */
export type ContextEntry = Extract<InboxEntry, { object: string }>;

/**
 * Changes which objects the model sees, as a client requested, and answers the request. The change applies after the
 * newest message. After a crash the request may be answered twice, but never not at all.
 */
export async function changeOnRequest(
  agent: Agent,
  writer: SessionWriter,
  entry: ContextEntry,
): Promise<void> {
  const { sessionKey } = writer;
  const unanswered = (error: unknown) => logError("context.unanswered", error, { sessionKey });
  const changed = await decide(agent, writer.state, entry).catch((error: unknown) => {
    if (error instanceof PeerError) return error;
    throw error;
  });
  if (changed instanceof PeerError) {
    await refuseEntry(agent, entry, entry.kind, changed.message, changed).catch(unanswered);
    await writer.commitEntry(entry, []);
    return;
  }
  const { id, change, note, origins } = changed;
  const result: ContextChanged = { ok: true, id, state: change?.state ?? "unchanged", note };
  await answerEntry(agent, entry, result, entry.kind, note).catch(unanswered);
  const { context } = writer.state;
  const steps = change
    ? [assign("context", { ...context, changes: withChange(writer.state, change, entry.at) })]
    : [];
  const read = origins ? [assign("origins", joinOrigins(await originsOf(agent, writer.state), origins))] : [];
  await writer.commitEntry(entry, [...steps, ...read]);
  log("context.changed", { sessionKey, entryId: entry.id, state: result.state });
}

async function decide(agent: Agent, state: SessionState, entry: ContextEntry): Promise<ChangedObject> {
  const { sessionKey, settings } = state;
  const configuration = await agent.configuration.load();
  const { contextWindow } = await describeModel(effectiveModel(configuration, sessionKey, settings));
  const messages = await agent.history.load(state);
  const audience = audienceOf(sessionKind(sessionKey, keyRules(configuration)));
  const changed = await changeObject(
    agent,
    { state, messages, audience, contextWindow },
    actionOf(entry),
    entry.object,
  );
  const others = (state.context?.changes ?? []).filter(({ id }) => id !== changed.id);
  if (changed.change && others.length >= maxClientChanges)
    throw new PeerError(
      code.conflict,
      `this session has ${maxClientChanges} changes by clients, which is the limit; compact it (session.compact), then try again`,
    );
  return changed;
}

function actionOf(entry: ContextEntry): ContextAction {
  return entry.kind === "pin" && !entry.pinned ? "unpin" : entry.kind;
}

/** The clients' changes with a new one, which replaces an earlier change of the same object. */
function withChange(
  { context, head }: SessionState,
  change: NonNullable<ChangedObject["change"]>,
  at: number,
): ClientChange[] {
  const others = (context?.changes ?? []).filter(({ id }) => id !== change.id);
  return [...others, { ...change, after: head, at }];
}
