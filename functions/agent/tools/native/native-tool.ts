import * as v from "valibot";
import type { ChannelOrigin } from "../../../../shared/channels/channel.ts";
import type { Configuration, ModelConfiguration } from "../../../../shared/configuration/schema.ts";
import type { NodeCall } from "../../../../shared/peers/node-call.ts";
import type { NodeTool } from "../../../../shared/peers/nodes.ts";
import type { PeerRecord } from "../../../../shared/peers/registry.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import type { ToolDefinition } from "../../../../shared/protocol/messages.ts";
import { inputSchemaOf } from "../../../../shared/protocol/tool-schema.ts";
import { logError } from "../../../../shared/runtime/log.ts";
import type { CallAddress } from "../../../../shared/session/call-address.ts";
import type { CallOutcome } from "../../../../shared/session/calls.ts";
import type { Sender } from "../../../../shared/session/inbox-entry.ts";
import type { Audience } from "../../../../shared/workspace/privacy.ts";
import type { Agent } from "../../agent.ts";

/** What the tools of a turn know of it. */
export interface ToolTurn {
  agentId: string;
  model: ModelConfiguration;
  audience: Audience;
  /** Connected nodes; none where the turn may not use them. */
  nodes: PeerRecord[];
  /** The native tools that this turn may use, by name. */
  native: ReadonlyMap<string, NativeTool>;
  /** The tools of connected nodes, by the name that the model uses. */
  nodeTools: Map<string, NodeTool>;
  /** The sessions that have handed the message of this run on to each other; none for a message of anybody else. */
  askers: readonly string[];
  /** Who has caused the run on a channel; absent for a client's run. */
  sender?: Sender;
  /**
   * Where the run's message came from, else where the conversation was last held on a channel. Absent in a main session
   * when the message came from no channel: `placeOf` finds its owner.
   */
  lastChannel?: ChannelOrigin;
}

/** What a native tool works with. */
export interface ToolCallContext {
  agent: Agent;
  turn: ToolTurn;
  address: CallAddress;
}

/**
 * What a native tool gives back: its result, or a message or a call that a session or a node answers later, by the same
 * way as a node tool's.
 * @see docs/reference/protocol.md, "Tools"
 */
export type NativeOutcome =
  /** `beside`: what is stored at the same time as the result. It does not fail. */
  | { ok: true; result: unknown; beside?: Promise<void> }
  | { ok: false; error: string }
  | { send: SessionMessage }
  | { ask: Extract<NodeCall, { event: "logs.get" }> & { nodeId: string } }
  | { begin: BegunCall };

/** A call that is answered later by what it begins. */
export interface BegunCall {
  /** The node that the session waits for; the answer is recorded in its name. */
  nodeId: string;
  /** Begins it. A repeat goes on with what was begun. @returns the outcome, when it is known at once */
  start(): Promise<CallOutcome | undefined>;
}

/** A message to another session. `queued`: other work comes before it, as seen when it was planned. */
export interface SessionMessage {
  /** Canonical. */
  sessionKey: string;
  message: string;
  /** 0: nobody waits for the answer. */
  waitSeconds: number;
  queued: boolean;
}

export interface NativeTool {
  definition: ToolDefinition;
  /** Arguments, as the model must give them. */
  schema: v.GenericSchema;
  /** False where doing it twice differs from doing it once: then it is never repeated after a crash. */
  repeatable: boolean;
  /** Whether a run that a guest wrote may use it. */
  forGuests: boolean;
  /** True for a tool whose answer comes later: its run decides what is asked or begun, and does nothing else. */
  asksNode?: boolean;
  /** True for a tool that only says which session is to be sent what. */
  asksSession?: boolean;
  /** True for a tool of conversations that the owner alone has: main and named ones. */
  ownSessionsOnly?: boolean;
  /** Whether the settings of an agent offer it. Absent: they always do. */
  isOffered?(configuration: Configuration, agentId: string): boolean;
  /** @throws PeerError for what the model can mend; its message becomes the error */
  run(args: never, context: ToolCallContext): Promise<NativeOutcome>;
}

/**
 * A native tool from the declaration of its arguments, which both checks them and tells the model what they are.
 */
export function nativeTool<E extends v.ObjectEntries>(tool: {
  name: string;
  description: string;
  arguments: E;
  /** Optional arguments that the model is asked to give all the same. */
  alsoRequired?: readonly (keyof E & string)[];
  repeatable: boolean;
  forGuests: boolean;
  asksNode?: boolean;
  asksSession?: boolean;
  ownSessionsOnly?: boolean;
  isOffered?(configuration: Configuration, agentId: string): boolean;
  run(args: v.InferOutput<v.ObjectSchema<E, undefined>>, context: ToolCallContext): Promise<NativeOutcome>;
}): NativeTool {
  const { name, description, arguments: entries, alsoRequired = [], ...rest } = tool;
  const { required = [], ...inputSchema } = inputSchemaOf(entries);
  return {
    ...rest,
    definition: {
      name,
      description,
      inputSchema: { ...inputSchema, required: [...required, ...alsoRequired], additionalProperties: false },
    },
    schema: v.object(entries),
  };
}

/** Runs a tool. A tool that fails gives an error, which the model can react to; the turn goes on. */
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
