import type { ChannelSender } from "../../shared/channels/channel.ts";
import type { ConfigurationStore } from "../../shared/configuration/store.ts";
import type { GuardedFetch } from "../../shared/http/guarded-fetch.ts";
import type { Memories } from "../../shared/memory/memories.ts";
import type { Broadcast } from "../../shared/peers/broadcast.ts";
import type { Recall } from "../../shared/recall/recall.ts";
import type { Book } from "../../shared/spend/book.ts";
import type { Workspace } from "../../shared/workspace/workspace-files.ts";
import type { AgentSlots, Bucket, Schedules, Sockets, Table, WakeAgent } from "../../shared/world/world.ts";
import type { History } from "./context/history.ts";
import type { PromptCache } from "./context/prompt-cache.ts";
import type { PromptSource } from "./context/prompt-source.ts";
import type { FetchAttachment } from "./fetch-attachment.ts";
import type { RemoteTools } from "./mcp/remote-tools.ts";
import type { CallModel } from "./model/model-call.ts";
import type { Transcribe } from "./model/transcription.ts";
import type { ArchivedResults } from "./objects/archived-results.ts";
import type { Reminders } from "./self/reminders.ts";
import type { SearchWeb } from "./web/search-web.ts";

/** The dependencies of the agent function, built once at cold start. */
export interface Agent {
  table: Table;
  book: Book;
  bucket: Bucket;
  sockets: Sockets;
  schedules: Schedules;
  wake: WakeAgent;
  slots?: AgentSlots;
  configuration: ConfigurationStore;
  broadcast: Broadcast;
  workspace: Workspace;
  prompts: PromptSource;
  promptCache: PromptCache;
  history: History;
  recall: () => Promise<Recall>;
  memories: () => Promise<Memories>;
  reminders: Reminders;
  archivedResults: ArchivedResults;
  callModel: CallModel;
  channels: ChannelSender;
  fetchAttachment: FetchAttachment;
  guardedFetch: GuardedFetch;
  searchWeb: SearchWeb;
  remoteTools: RemoteTools;
  transcribe: Transcribe;
  now: () => number;
}
