import { randomUUID } from "node:crypto";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import { maxPayloadBytes } from "../../../shared/protocol/frames.ts";
import type { Params } from "../../../shared/protocol/methods.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { effectiveModel } from "../../../shared/session/commands/model-choice.ts";
import { submitEntry } from "../../../shared/session/intake.ts";
import { readPreviousIds } from "../../../shared/session/previous-ids.ts";
import { planReset } from "../../../shared/session/reset-schedule.ts";
import {
  listSessions,
  patchSession,
  readSession,
  type SessionPatch,
} from "../../../shared/session/sessions.ts";
import { costOf } from "../../../shared/session/spending.ts";
import { messageCount, newSession, type SessionState } from "../../../shared/session/state.ts";
import { readMessages } from "../../../shared/session/transcript.ts";
import type { Table } from "../../../shared/world/world.ts";
import { deferred, type Gateway, type MethodTable } from "../gateway.ts";
import { canonicalKey, clientOrigin } from "./chat.ts";

/** Number of messages in a preview without `limit`. */
const previewLimit = 50;

/** Reads a session. A session that does not exist yet is returned as an empty one. */
async function load(gateway: Gateway, sessionKey: string): Promise<SessionState> {
  const key = await canonicalKey(gateway, sessionKey);
  return (await readSession(gateway.table, key)) ?? newSession(key, "", gateway.now());
}

export const sessionMethods: Pick<
  MethodTable,
  | "sessions.list"
  | "session.get"
  | "session.stats"
  | "session.cost"
  | "session.patch"
  | "session.reset"
  | "session.compact"
  | "session.preview"
> = {
  "sessions.list": {
    modes: ["client", "mcp"],
    async handle({ table }, { offset, limit }) {
      const sessions = await listSessions(table, offset, limit);
      return { sessions, count: sessions.length };
    },
  },
  "session.get": {
    modes: ["client"],
    async handle(gateway, { sessionKey }) {
      const state = await load(gateway, sessionKey);
      const { defaultResetPolicy } = (await gateway.configuration.load()).session;
      const { sessionId, createdAt, updatedAt, tokens, settings, lastResetAt, label } = state;
      return {
        sessionId,
        sessionKey: state.sessionKey,
        createdAt,
        updatedAt,
        messageCount: messageCount(state),
        tokens,
        settings,
        resetPolicy: state.resetPolicy ?? defaultResetPolicy,
        ...(lastResetAt === undefined ? {} : { lastResetAt }),
        previousSessionIds: await readPreviousIds(gateway.table, state),
        ...(label === undefined ? {} : { label }),
        ...(state.private ? { private: true } : {}),
      };
    },
  },
  "session.stats": {
    modes: ["client"],
    async handle(gateway, { sessionKey }) {
      const state = await load(gateway, sessionKey);
      const { sessionId, tokens, createdAt, updatedAt } = state;
      return {
        sessionKey: state.sessionKey,
        sessionId,
        messageCount: messageCount(state),
        tokens,
        createdAt,
        updatedAt,
        uptime: gateway.now() - createdAt,
        isProcessing: state.run !== undefined,
        ...(state.run ? { runId: state.run.runId, step: state.run.step, attempt: state.run.attempt } : {}),
        queueSize: state.inbox.length,
      };
    },
  },
  "session.cost": {
    modes: ["client"],
    async handle(gateway, { sessionKey }) {
      return costOf(gateway, await canonicalKey(gateway, sessionKey), true);
    },
  },
  "session.patch": {
    modes: ["client"],
    async handle(gateway, { sessionKey, settings, label, resetPolicy }) {
      const key = await canonicalKey(gateway, sessionKey);
      const patch = await completePatch(gateway, key, { settings, label, resetPolicy });
      const state = await patchSession(gateway.table, key, patch, gateway.now());
      if (resetPolicy !== undefined) {
        const unscheduled = (error: unknown) => logError("reset.unscheduled", error, { sessionKey: key });
        await planReset(gateway, state, gateway.now()).catch(unscheduled);
      }
      if (label !== undefined) await tellRenamed(gateway, state);
      return { ok: true };
    },
  },
  "session.reset": {
    modes: ["client"],
    async handle(gateway, { sessionKey, private: isPrivate }, { id, caller }) {
      const origin = clientOrigin(caller, id);
      const next = isPrivate ? ({ private: true } as const) : {};
      const how = { kind: "reset", via: "method", ...next } as const;
      const entry = { id: randomUUID(), at: gateway.now(), origin, ...how };
      await submitEntry(gateway, await canonicalKey(gateway, sessionKey), entry);
      return deferred;
    },
  },
  "session.compact": {
    modes: ["client"],
    async handle(gateway, { sessionKey, keepMessages }, { id, caller }) {
      const origin = clientOrigin(caller, id);
      const how = { kind: "compact", keep: keepMessages, via: "method" } as const;
      const entry = { id: randomUUID(), at: gateway.now(), origin, ...how };
      await submitEntry(gateway, await canonicalKey(gateway, sessionKey), entry);
      return deferred;
    },
  },
  "session.preview": {
    modes: ["client"],
    async handle(gateway, { sessionKey, limit = previewLimit, before }) {
      const state = await load(gateway, sessionKey);
      const to = before === undefined ? state.head : Math.min(state.head, before - 1);
      const from = Math.max(state.first, to - limit + 1);
      const messages = await readMessages(gateway, state, from, to, maxPayloadBytes);
      return {
        sessionKey: state.sessionKey,
        sessionId: state.sessionId,
        messageCount: messageCount(state),
        first: state.first,
        messages: messages.map((message, index) => ({ ...message, seq: from + index })),
      };
    },
  },
};

/** Tells the clients that follow all sessions about a session's new label. A failure is only logged. */
async function tellRenamed({ broadcast }: Gateway, state: SessionState): Promise<void> {
  const { sessionKey, sessionId, label, updatedAt: lastActiveAt } = state;
  const change = { sessionKey, sessionId, ...(label === undefined ? {} : { label }), lastActiveAt };
  try {
    const followers = broadcast.following(await broadcast.clients());
    await broadcast.send(followers, "session.changed", { ...change, isProcessing: state.run !== undefined });
  } catch (error) {
    logError("session.untold", error, { sessionKey });
  }
}

/**
 * Completes a client's patch: missing fields of a model or reset policy come from the session's own, otherwise from the one
 * in use. A patch without them needs no read.
 */
async function completePatch(
  { table, configuration }: { table: Table; configuration: Pick<ConfigurationStore, "load"> },
  sessionKey: string,
  patch: Pick<Params<"session.patch">, "settings" | "label" | "resetPolicy">,
): Promise<SessionPatch> {
  const { label, settings: { model, ...settings } = {}, resetPolicy } = patch;
  const rest = { settings, ...(label === undefined ? {} : { label }) };
  if (!model && !resetPolicy) {
    const removed = model === null ? { model } : {};
    return {
      ...rest,
      settings: { ...settings, ...removed },
      ...(resetPolicy === null ? { resetPolicy } : {}),
    };
  }
  const [state, configured] = await Promise.all([readSession(table, sessionKey), configuration.load()]);
  return {
    ...rest,
    settings:
      model === undefined
        ? settings
        : { ...settings, model: model && wholeModel(configured, sessionKey, state, model) },
    ...(resetPolicy === undefined
      ? {}
      : { resetPolicy: resetPolicy && wholePolicy(configured, state, resetPolicy) }),
  };
}

function wholeModel(
  configuration: Configuration,
  sessionKey: string,
  state: SessionState | undefined,
  half: Partial<{ provider: string; id: string }>,
) {
  const { provider, id } = effectiveModel(configuration, sessionKey, state?.settings ?? {});
  return { provider, id, ...half };
}

/** Completes a reset policy. A session without its own policy gets the default's mode, unless the patch names one. */
function wholePolicy(
  { session }: Configuration,
  state: SessionState | undefined,
  half: NonNullable<Params<"session.patch">["resetPolicy"]>,
) {
  const { mode } = session.defaultResetPolicy;
  return { ...(state?.resetPolicy ?? { mode }), ...half };
}
