import { randomUUID } from "node:crypto";
import { contextEntries } from "../../../shared/context/context-entries.ts";
import { contextSettings, viewContext } from "../../../shared/context/view.ts";
import type { ContextResult } from "../../../shared/protocol/session-results.ts";
import { windowOf } from "../../../shared/session/commands/context-command.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { submitEntry } from "../../../shared/session/intake.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { readMessages } from "../../../shared/session/transcript.ts";
import { type Caller, deferred, type Gateway, type MethodTable } from "../gateway.ts";
import { canonicalKey, clientOrigin } from "./chat.ts";

/** Tokens per character before a provider has reported any. */
const usualTokens = 1 / 4;

export const contextMethods: Pick<
  MethodTable,
  "session.context" | "session.activate" | "session.deactivate" | "session.pin"
> = {
  "session.context": {
    modes: ["client"],
    async handle(gateway, { sessionKey }) {
      return contextOf(gateway, await canonicalKey(gateway, sessionKey));
    },
  },
  "session.activate": {
    modes: ["client"],
    async handle(gateway, { sessionKey, id: object }, { id, caller }) {
      return submit(gateway, sessionKey, { ...newEntry(gateway, id, caller), kind: "activate", object });
    },
  },
  "session.deactivate": {
    modes: ["client"],
    async handle(gateway, { sessionKey, id: object }, { id, caller }) {
      return submit(gateway, sessionKey, { ...newEntry(gateway, id, caller), kind: "deactivate", object });
    },
  },
  "session.pin": {
    modes: ["client"],
    async handle(gateway, { sessionKey, id: object, pinned }, { id, caller }) {
      return submit(gateway, sessionKey, { ...newEntry(gateway, id, caller), kind: "pin", object, pinned });
    },
  },
};

function newEntry({ now }: Gateway, requestId: string, caller: Caller) {
  return { id: randomUUID(), at: now(), origin: clientOrigin(caller, requestId), via: "method" } as const;
}

/** Appends the request to the session's inbox. The agent answers it after the work before it. */
async function submit(gateway: Gateway, sessionKey: string, entry: InboxEntry): Promise<typeof deferred> {
  await submitEntry(gateway, await canonicalKey(gateway, sessionKey), entry);
  return deferred;
}

async function contextOf(gateway: Gateway, sessionKey: string): Promise<ContextResult> {
  const [use, state, configuration] = await Promise.all([
    windowOf(gateway, sessionKey),
    readSession(gateway.table, sessionKey),
    gateway.configuration.load(),
  ]);
  const messages = state ? await readMessages(gateway, state) : [];
  const settings = contextSettings(configuration, agentIdOf(sessionKey));
  const view = viewContext(messages, state?.first ?? 1, state?.context, settings);
  return { ...use, ...contextEntries(view, state?.tokensPerCharacter ?? usualTokens) };
}
