import type { Configuration } from "../../shared/configuration/schema.ts";
import type { ConfigurationStore } from "../../shared/configuration/store.ts";
import type { Params } from "../../shared/protocol/methods.ts";
import { effectiveModel } from "../../shared/session/commands/model-choice.ts";
import { readSession, type SessionPatch } from "../../shared/session/sessions.ts";
import type { SessionState } from "../../shared/session/state.ts";
import type { Table } from "../../shared/world/world.ts";

/**
 * The patch that a client asks for, with what it leaves out of a model or a reset policy: of the session's own, else
 * of the one in use. A patch without them costs no read.
 */
export async function completePatch(
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

/** A policy that names its mode begins anew, unless the session has one already. */
function wholePolicy(
  { session }: Configuration,
  state: SessionState | undefined,
  half: NonNullable<Params<"session.patch">["resetPolicy"]>,
) {
  const { mode } = session.defaultResetPolicy;
  return { ...(state?.resetPolicy ?? { mode }), ...half };
}
