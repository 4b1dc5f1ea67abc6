import * as v from "valibot";
import type { Configuration } from "../../../../shared/configuration/schema.ts";
import { contextTools } from "../../../../shared/context/context-calls.ts";
import { contextSettings } from "../../../../shared/context/view.ts";
import { readSession } from "../../../../shared/session/sessions.ts";
import { describeModel } from "../../model/resolve-model.ts";
import { type ContextAction, changeObject } from "../../objects/change-object.ts";
import { type NativeOutcome, nativeTool, type ToolCallContext } from "./native-tool.ts";

const id = v.pipe(v.string(), v.minLength(1), v.maxLength(1100));

/** Plans a change. It takes effect once its result is in the transcript. */
async function change(
  action: ContextAction,
  given: string,
  context: ToolCallContext,
): Promise<NativeOutcome> {
  const { agent, turn, address } = context;
  const state = await readSession(agent.table, address.sessionKey);
  if (!state) return { ok: false, error: `Object not found: ${given}` };
  const messages = await agent.history.load(state);
  const { contextWindow } = await describeModel(turn.model);
  const search = { state, messages, audience: turn.audience, contextWindow };
  const { id, change, note, origins = [] } = await changeObject(agent, search, action, given);
  return { ok: true, result: { id, ...change, note }, origins };
}

const isOffered = (configuration: Configuration, agentId: string) =>
  contextSettings(configuration, agentId).tools;

export const activate = nativeTool({
  name: contextTools.activate,
  description:
    "Show an object from your next step on: an earlier result (id of its call) or a file (file:gsv:{path}).",
  arguments: { id },
  repeatable: true,
  forGuests: false,
  isOffered,
  run: ({ id }, context) => change("activate", id, context),
});

export const deactivate = nativeTool({
  name: contextTools.deactivate,
  description: "Hide an object until it is activated again.",
  arguments: { id },
  repeatable: true,
  forGuests: false,
  isOffered,
  run: ({ id }, context) => change("deactivate", id, context),
});

export const pin = nativeTool({
  name: contextTools.pin,
  description: "Keep showing an object as it is now, until you unpin it with pinned false.",
  arguments: { id, pinned: v.optional(v.boolean()) },
  repeatable: true,
  forGuests: false,
  isOffered,
  run: ({ id, pinned = true }, context) => change(pinned ? "pin" : "unpin", id, context),
});
