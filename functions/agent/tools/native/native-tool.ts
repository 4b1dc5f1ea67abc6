import * as v from "valibot";
import type { ChannelOrigin } from "../../../../shared/channels/channel.ts";
import type { Configuration, ModelConfiguration } from "../../../../shared/configuration/schema.ts";
import type { OfferedTool } from "../../../../shared/mcp/catalogue.ts";
import type { Origins } from "../../../../shared/origins/origins.ts";
import type { NodeCall } from "../../../../shared/peers/node-call.ts";
import type { NodeTool } from "../../../../shared/peers/nodes.ts";
import type { PeerRecord } from "../../../../shared/peers/registry.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import type { ServerClass } from "../../../../shared/protocol/mcp.ts";
import type { ToolDefinition } from "../../../../shared/protocol/messages.ts";
import { inputSchemaOf } from "../../../../shared/protocol/tool-schema.ts";
import { logError } from "../../../../shared/runtime/log.ts";
import type { CallAddress } from "../../../../shared/session/call-address.ts";
import type { CallOutcome } from "../../../../shared/session/calls.ts";
import type { Sender } from "../../../../shared/session/inbox-entry.ts";
import type { Audience } from "../../../../shared/workspace/privacy.ts";
import type { Agent } from "../../agent.ts";
import type { Payment } from "../../model/model-call.ts";

/** The facts about a turn that its tools need. */
export interface ToolTurn {
  agentId: string;
  model: ModelConfiguration;
  audience: Audience;
  /** The conversation is not archived or searched. */
  isPrivate: boolean;
  /** The same for all calls whose results the model still reads together: it changes with a reset and a compaction. */
  conversation: string;
  /** Connected nodes; empty if the turn may not use them. */
  nodes: PeerRecord[];
  /** The native tools that this turn may use, by name. */
  native: ReadonlyMap<string, NativeTool>;
  /** The tools of connected nodes, by the name that the model uses. */
  nodeTools: Map<string, NodeTool>;
  /** The chain of sessions that forwarded this run's message, in order; empty for a message that no session sent. */
  askers: readonly string[];
  /** The message from which this run descends (`rootOf`). */
  root: string;
  /** Whose words the run has read, besides the owner's, with those of the prompt. What it writes contains them. */
  origins: Origins;
  /** The channel user who caused the run; absent for a client's run. */
  sender?: Sender;
  /**
   * The channel of the run's message, otherwise the last channel of the conversation. Absent in a main session if the
   * message did not come from a channel: `placeOf` finds its owner.
   */
  lastChannel?: ChannelOrigin;
}

/** The context of a native tool's call. */
export interface ToolCallContext {
  agent: Agent;
  turn: ToolTurn;
  address: CallAddress;
  /** Aborts when the run is stopped. Absent while a call is only planned. */
  signal?: AbortSignal;
  /** Who pays for what the tool calls. Absent while a call is only planned. */
  payment?(): Promise<Payment>;
}

/**
 * The outcome of a native tool: a result, or a message or call that a session or a node answers later, as it answers a node
 * tool's call.
 * @see docs/reference/protocol.md, "Tools"
 */
export type NativeOutcome =
  /**
   * `inParallel`: a write in parallel with that of the result. It does not reject. `origins`: whose words the result contains,
   * besides the owner's.
   */
  | { ok: true; result: unknown; inParallel?: Promise<void>; origins?: string[] }
  | { ok: false; error: string }
  | { send: SessionMessage }
  | { ask: Extract<NodeCall, { event: "logs.get" }> & { nodeId: string } }
  | { begin: BegunCall }
  | { remote: RemotePlan };

/** A call of a tool of an MCP server, as it was planned. */
export interface RemotePlan {
  tool: OfferedTool;
  /** As the server expects them. */
  args: Record<string, unknown>;
  /** How long a task may take, and a call without one. Milliseconds. */
  deadlineMs: number;
  timeoutMs: number;
  /** Whether the call may be sent twice. */
  repeatable: boolean;
  /** Why it is not sent. */
  refused?: string;
}

/** A call that starts work which answers it later. */
export interface BegunCall {
  /** The node that the session waits for; the answer is recorded as this node's. */
  nodeId: string;
  /** As in `PendingCall`. */
  process?: string;
  /** The native tool that begins it. */
  tool?: string;
  /**
   * Starts the work, or continues work that was already started.
   * @param process the stored one, of the first attempt
   * @returns the outcome, if it is known at once
   */
  start(process: string | undefined): Promise<CallOutcome | undefined>;
}

/** A message to another session. `queued`: other work came before it when it was planned. */
export interface SessionMessage {
  /** Canonical. */
  sessionKey: string;
  message: string;
  /** 0: the call does not wait for the answer. */
  waitSeconds: number;
  queued: boolean;
}

export interface NativeTool {
  definition: ToolDefinition;
  /** Checks the arguments that the model gives. */
  schema: v.GenericSchema;
  /** False if running it twice differs from running it once: then it is never repeated after a crash. */
  repeatable: boolean;
  /** Whether a run that answers a guest may use it. */
  forGuests: boolean;
  /** True for a tool that is accepted, but not described to the model. */
  isHidden?: boolean;
  /** True for a tool that a node answers later: `run` only determines the call, and sends nothing. */
  asksNode?: boolean;
  /** True for a tool that only determines a message and its session. */
  asksSession?: boolean;
  /** Of a tool of an MCP server, whose calls are only determined, too: what they can do. */
  remoteClass?: ServerClass;
  /** True for a tool that only the owner's own conversations may use: main and named ones. */
  ownSessionsOnly?: boolean;
  /** Whether the settings of an agent offer it to a model. Absent: always. */
  isOffered?(configuration: Configuration, agentId: string, model: ModelConfiguration): boolean;
  /** @throws PeerError for an error that the model can fix; its message becomes the call's error */
  run(args: never, context: ToolCallContext): Promise<NativeOutcome>;
}

/** Creates a native tool. The declaration of its arguments checks them and describes them to the model. */
export function nativeTool<E extends v.ObjectEntries, A extends v.ObjectEntries = E>(tool: {
  name: string;
  description: string;
  arguments: E;
  /** The arguments that are accepted, if the model is told of fewer. */
  accepts?: A;
  /** Arguments that are optional, but required in the definition that the model sees. */
  alsoRequired?: readonly (keyof E & string)[];
  repeatable: boolean;
  forGuests: boolean;
  isHidden?: boolean;
  asksNode?: boolean;
  asksSession?: boolean;
  ownSessionsOnly?: boolean;
  isOffered?(configuration: Configuration, agentId: string, model: ModelConfiguration): boolean;
  run(args: v.InferOutput<v.ObjectSchema<A, undefined>>, context: ToolCallContext): Promise<NativeOutcome>;
}): NativeTool {
  const { name, description, arguments: entries, accepts, alsoRequired = [], ...rest } = tool;
  const { required = [], ...inputSchema } = inputSchemaOf(entries);
  const announced = [...required, ...alsoRequired];
  return {
    ...rest,
    definition: {
      name,
      description,
      inputSchema: { ...inputSchema, ...(announced.length > 0 ? { required: announced } : {}) },
    },
    schema: v.object(accepts ?? entries),
  };
}

/** Runs a tool. A failure becomes an error that the model can react to, and the turn continues. */
export async function runNativeTool(
  tool: NativeTool,
  args: unknown,
  context: ToolCallContext,
): Promise<NativeOutcome> {
  try {
    return await tool.run(args as never, context);
  } catch (error) {
    if (error instanceof PeerError) return { ok: false, error: error.message };
    logError("tool.failed", error, { tool: tool.definition.name, sessionKey: context.address.sessionKey });
    return { ok: false, error: "internal error" };
  }
}
