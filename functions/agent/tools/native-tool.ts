import * as v from "valibot";
import type { NodeCall } from "../../../shared/peers/node-call.ts";
import { inputSchemaOf } from "../../../shared/protocol/input-schema.ts";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import type { CallAddress } from "../../../shared/session/call-address.ts";
import type { Agent } from "../agent.ts";
import type { TurnContext } from "../context/context.ts";

/** What a native tool works with. */
export interface ToolCallContext {
  agent: Agent;
  turn: TurnContext;
  address: CallAddress;
}

/**
 * What a native tool gives back: its result, or a call that a node answers later, by the same way as a node tool's.
 * @see docs/protocol.md, "Tools"
 */
export type NativeOutcome =
  | { ok: true; result: unknown }
  | { ok: false; error: string }
  | { ask: Extract<NodeCall, { event: "logs.get" }> & { nodeId: string } };

export interface NativeTool {
  definition: ToolDefinition;
  /** Arguments, as the model must give them. */
  schema: v.GenericSchema;
  /** False where doing it twice differs from doing it once: then it is never repeated after a crash. */
  repeatable: boolean;
  /** True for a tool that only hands its question on to a node. */
  asksNode?: boolean;
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
  asksNode?: boolean;
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
