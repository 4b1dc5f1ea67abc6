import type { Bucket } from "../../shared/aws/bucket.ts";
import type { WakeAgent } from "../../shared/aws/invoke.ts";
import type { Schedules } from "../../shared/aws/schedules.ts";
import type { Sockets } from "../../shared/aws/sockets.ts";
import type { Table } from "../../shared/aws/table.ts";
import type { Broadcast } from "../../shared/broadcast.ts";
import type { FetchAttachment } from "../../shared/channels/attachment.ts";
import type { ChannelSender } from "../../shared/channels/channel.ts";
import type { ConfigurationStore } from "../../shared/configuration/store.ts";
import type { GuardedFetch } from "../../shared/guarded-fetch.ts";
import type { Workspace } from "../../shared/workspace/files.ts";
import type { History } from "./history.ts";
import type { CallModel } from "./model.ts";
import type { PromptSource } from "./prompt-source.ts";
import type { Transcribe } from "./transcription.ts";

/** What the agent function works with, built once at cold start. */
export interface Agent {
  table: Table;
  bucket: Bucket;
  sockets: Sockets;
  schedules: Schedules;
  wake: WakeAgent;
  configuration: ConfigurationStore;
  broadcast: Broadcast;
  workspace: Workspace;
  prompts: PromptSource;
  history: History;
  callModel: CallModel;
  channels: ChannelSender;
  fetchAttachment: FetchAttachment;
  guardedFetch: GuardedFetch;
  transcribe: Transcribe;
  now: () => number;
}
