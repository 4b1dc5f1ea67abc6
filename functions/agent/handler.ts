import type { Context } from "aws-lambda";
import { openBucket } from "../../shared/aws/bucket.ts";
import { openAgent } from "../../shared/aws/invoke.ts";
import { openPresigner } from "../../shared/aws/presign.ts";
import { openSchedules } from "../../shared/aws/schedules.ts";
import { openSecrets } from "../../shared/aws/secrets.ts";
import { openSockets } from "../../shared/aws/sockets.ts";
import { openTable } from "../../shared/aws/table.ts";
import { createBroadcast } from "../../shared/broadcast.ts";
import { createActivity, noteFailures } from "../../shared/channels/activity.ts";
import { createFetchAttachment } from "../../shared/channels/attachment.ts";
import { openBridges } from "../../shared/channels/bridge.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/sender.ts";
import { readEnvironment } from "../../shared/config.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { createGuardedFetch } from "../../shared/guarded-fetch.ts";
import { once, wrapHandler } from "../../shared/handler.ts";
import { openPayloads, sendByReference } from "../../shared/payloads.ts";
import { openWorkspace } from "../../shared/workspace/files.ts";
import type { Agent } from "./agent.ts";
import { createHistory } from "./history.ts";
import { createMediaCache } from "./media-cache.ts";
import { createCallModel } from "./model.ts";
import { createPromptSource } from "./prompt-source.ts";
import { holdSession } from "./run.ts";
import { createTranscribe } from "./transcription.ts";

/** Rate limits of platforms are counted by the minute. Milliseconds. */
const maxWaitMs = 60_000;

/** What wakes the agent: there is, or may be, something to do in a session. A repeat is harmless. */
export interface AgentEvent {
  sessionKey: string;
}

const agent = once((): Agent => {
  const environment = readEnvironment();
  const now = Date.now;
  const table = openTable(environment.tableName);
  const prompts = createPromptSource(openBucket(environment.bucketName));
  const { bucket } = prompts;
  const payloads = openPayloads(bucket, openPresigner(environment.bucketName));
  const sockets = sendByReference(openSockets(environment.webSocketApiEndpoint), { table, payloads, now });
  const secrets = openSecrets(environment.ssmPrefix);
  const configuration = openConfiguration(table, secrets);
  const guardedFetch = createGuardedFetch();
  const activity = createActivity(table, now);
  const bridges = openBridges({ table, sockets, activity, payloads, limits: channels, now });
  return {
    table,
    bucket,
    sockets,
    schedules: openSchedules(environment),
    wake: openAgent(environment.agentFunction),
    configuration,
    broadcast: createBroadcast(table, sockets, now),
    workspace: openWorkspace(bucket),
    prompts,
    history: createHistory({ table, bucket }),
    callModel: createCallModel({ configuration, secrets }, createMediaCache(bucket)),
    channels: noteFailures(
      createChannelSender({ table, secrets, configuration, bridges, now, maxWaitMs }),
      activity,
    ),
    fetchAttachment: createFetchAttachment({ channels, configuration, secrets, bridges, guardedFetch }),
    guardedFetch,
    transcribe: createTranscribe({ configuration, secrets }),
    now,
  };
});

export const handler = wrapHandler<AgentEvent, void>(
  "agent",
  (event, context: Context) =>
    holdSession(agent(), event.sessionKey, () => context.getRemainingTimeInMillis()),
  { fields: ({ sessionKey }) => ({ sessionKey }) },
);
