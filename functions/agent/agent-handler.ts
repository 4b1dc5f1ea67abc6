import type { Context } from "aws-lambda";
import { createActivity, recordFailures } from "../../shared/channels/activity.ts";
import { openBridges } from "../../shared/channels/bridge/bridge.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { createGuardedFetch } from "../../shared/http/guarded-fetch.ts";
import { loadMemories } from "../../shared/memory/load-memories.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import { openPayloads, sendByReference } from "../../shared/peers/payloads.ts";
import { tellBudgets } from "../../shared/peers/tell-budgets.ts";
import { createSegments, removeNotes } from "../../shared/recall/segments.ts";
import { watchInvocations } from "../../shared/runtime/faults.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { openBook } from "../../shared/spend/book.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import type { World } from "../../shared/world/world.ts";
import type { Agent } from "./agent.ts";
import { createHistory } from "./context/history.ts";
import { createPromptCache } from "./context/prompt-cache.ts";
import { createPromptSource } from "./context/prompt-source.ts";
import { createFetchAttachment } from "./fetch-attachment.ts";
import { createRemoteTools } from "./mcp/lazy-remote-tools.ts";
import { measureModel } from "./model/measured-model.ts";
import { createMediaCache } from "./model/media-cache.ts";
import { createCallModel } from "./model/model.ts";
import { createSpeak } from "./model/speech.ts";
import { createTranscribe } from "./model/transcription.ts";
import { createArchivedResults } from "./objects/archived-results.ts";
import { createReminders } from "./self/reminders.ts";
import { holdSession } from "./session-loop.ts";

/** The longest wait for a platform's rate limit; such limits are counted per minute. Milliseconds. */
const maxWaitMs = 60_000;

/** Wakes the agent: a session has, or may have, something to do. A repeated event is harmless. */
export interface AgentEvent {
  sessionKey: string;
  /** The version of the configuration that the sender of the event had just read; absent when it had read none. */
  configurationVersion?: number;
  /** The slot that the invocation has, where the number of agents is limited. */
  slot?: string;
}

/** The agent function's handler. */
export function createAgentHandler(world: World) {
  const agent = createAgent(world);
  return wrapHandler<AgentEvent, void>(
    "agent",
    (event, context: Context) => {
      agent.configuration.confirm(event.configurationVersion);
      return holdSession(agent, event.sessionKey, () => context.getRemainingTimeInMillis(), event.slot);
    },
    {
      fields: ({ sessionKey }) => ({ sessionKey }),
      watch: watchInvocations(world.table, "agent", world.now),
    },
  );
}

/** Builds the dependencies of an instance of the agent function. */
export function createAgent(world: World): Agent {
  const { table, now } = world;
  const prompts = createPromptSource(world.bucket);
  const { bucket } = prompts;
  const segments = createSegments(bucket);
  const workspace = openWorkspace(bucket, undefined, (agentId, path) =>
    removeNotes(segments, agentId, [path]),
  );
  const payloads = openPayloads(bucket, world.presigner);
  const sockets = sendByReference(world.sockets, { table, payloads, now });
  const configuration = openConfiguration(table, world.secrets, { now, model: world.defaultModel });
  const secrets = cacheSecrets(world.secrets, configuration, now);
  const guardedFetch = createGuardedFetch();
  const activity = createActivity(table, now);
  const bridges = openBridges({
    table,
    sockets,
    activity,
    payloads,
    platforms: channels,
    configuration,
    now,
  });
  const sender = createChannelSender({ table, secrets, configuration, bridges, now, maxWaitMs });
  const broadcast = createBroadcast(table, sockets, now);
  const book = openBook({ table, configuration, now, tell: tellBudgets(broadcast) });
  const callModel = createCallModel({ configuration, secrets }, createMediaCache(bucket));
  const memory = loadMemories({ table, bucket, workspace }, segments);
  return {
    table,
    book,
    bucket,
    sockets,
    schedules: world.schedules,
    wake: world.wake,
    slots: world.slots,
    configuration,
    broadcast,
    workspace,
    prompts,
    promptCache: createPromptCache(prompts.bucket),
    history: createHistory({ table, bucket }),
    ...memory,
    reminders: createReminders({ table, configuration, now, ...memory }),
    archivedResults: createArchivedResults(bucket),
    callModel: world.metrics ? measureModel(callModel, world.metrics, now) : callModel,
    channels: recordFailures(sender, activity),
    fetchAttachment: createFetchAttachment({ channels, configuration, secrets, bridges, guardedFetch }),
    guardedFetch,
    searchWeb: async (...asked) => {
      const { searchWeb } = await import("./web/search-web.ts");
      return searchWeb({ configuration, secrets }, ...asked);
    },
    remoteTools: createRemoteTools({ ...world, configuration }),
    transcribe: createTranscribe({ configuration, secrets, book }),
    speak: createSpeak({ configuration, secrets, book }),
    now,
  };
}
