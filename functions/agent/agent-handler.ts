import type { Context } from "aws-lambda";
import { createActivity, recordFailures } from "../../shared/channels/activity.ts";
import { openBridges } from "../../shared/channels/bridge/bridge.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { watchInvocations } from "../../shared/faults/faults.ts";
import { createGuardedFetch } from "../../shared/http/guarded-fetch.ts";
import { loadMemories } from "../../shared/memory/load-memories.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import { openPayloads, sendByReference } from "../../shared/peers/payloads.ts";
import { loadRecall } from "../../shared/recall/load-recall.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import type { World } from "../../shared/world/world.ts";
import type { Agent } from "./agent.ts";
import { createHistory } from "./context/history.ts";
import { createKeptPrompts } from "./context/prompt-cache.ts";
import { createPromptSource } from "./context/prompt-source.ts";
import { createFetchAttachment } from "./fetch-attachment.ts";
import { createMediaCache } from "./model/media-cache.ts";
import { createCallModel } from "./model/model.ts";
import { createTranscribe } from "./model/transcription.ts";
import { createArchivedResults } from "./objects/archived-results.ts";
import { holdSession } from "./session-loop.ts";

/** Longest wait for a platform's rate limit, which is counted by the minute. Milliseconds. */
const maxWaitMs = 60_000;

/** What wakes the agent: there is, or may be, something to do in a session. A repeat is harmless. */
export interface AgentEvent {
  sessionKey: string;
  /** The version of the configuration that whoever woke the agent had just read; absent when it had read none. */
  configurationVersion?: number;
}

/** The agent function's handler. */
export function createAgentHandler(world: World) {
  const agent = createAgent(world);
  return wrapHandler<AgentEvent, void>(
    "agent",
    (event, context: Context) => {
      agent.configuration.confirm(event.configurationVersion);
      return holdSession(agent, event.sessionKey, () => context.getRemainingTimeInMillis());
    },
    {
      fields: ({ sessionKey }) => ({ sessionKey }),
      watch: watchInvocations(world.table, "agent", world.now),
    },
  );
}

/** What an instance of the agent function works with. */
export function createAgent(world: World): Agent {
  const { table, now } = world;
  const prompts = createPromptSource(world.bucket);
  const { bucket } = prompts;
  const workspace = openWorkspace(bucket);
  const payloads = openPayloads(bucket, world.presigner);
  const sockets = sendByReference(world.sockets, { table, payloads, now });
  const configuration = openConfiguration(table, world.secrets, { now });
  const secrets = cacheSecrets(world.secrets, configuration, now);
  const guardedFetch = createGuardedFetch();
  const activity = createActivity(table, now);
  const bridges = openBridges({ table, sockets, activity, payloads, limits: channels, now });
  const sender = createChannelSender({ table, secrets, configuration, bridges, now, maxWaitMs });
  return {
    table,
    bucket,
    sockets,
    schedules: world.schedules,
    wake: world.wake,
    configuration,
    broadcast: createBroadcast(table, sockets, now),
    workspace,
    prompts,
    keptPrompts: createKeptPrompts(prompts.bucket),
    history: createHistory({ table, bucket }),
    recall: loadRecall({ table, bucket, configuration, secrets, now }),
    memories: loadMemories({ table, bucket, workspace }),
    archivedResults: createArchivedResults(bucket),
    callModel: createCallModel({ configuration, secrets }, createMediaCache(bucket)),
    channels: recordFailures(sender, activity),
    fetchAttachment: createFetchAttachment({ channels, configuration, secrets, bridges, guardedFetch }),
    guardedFetch,
    transcribe: createTranscribe({ configuration, secrets }),
    now,
  };
}
