import type * as v from "valibot";
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
 * @see protocol, "Tools": native tools answer `{ok, result?, error?}`
 */
export type NativeOutcome =
  | { ok: true; result: unknown }
  | { ok: false; error: string }
  | { ask: { nodeId: string; event: "logs.get"; payload: Record<string, unknown> } };

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

/** Ties a tool's arguments to its schema. */
export function nativeTool<S extends v.GenericSchema>(tool: {
  definition: ToolDefinition;
  schema: S;
  repeatable: boolean;
  asksNode?: boolean;
  run(args: v.InferOutput<S>, context: ToolCallContext): Promise<NativeOutcome>;
}): NativeTool {
  return tool;
}

/** JSON Schema of an object with these properties; those in `required` must be there. */
export function objectSchema(
  properties: Record<string, Record<string, unknown>>,
  required: readonly string[],
): Record<string, unknown> {
  return { type: "object", properties, required, additionalProperties: false };
}
