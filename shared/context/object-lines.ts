import { fileType } from "../objects/file.ts";
import type { ActivatedObject, ArchivedCall } from "../protocol/context-objects.ts";
import type { ToolResultMessage } from "../protocol/messages.ts";
import { type ContextCall, contextTools, titleOf } from "./context-calls.ts";

/** The line about a call whose result the model does not see. */
function callLine({ id, tool, status, characters }: Omit<ArchivedCall, "at" | "line">, args: string) {
  return `- id=${id} type=toolcall tool=${tool} args=${args} status=${status} ${sizeOf(characters)}`;
}

/** The line about a live call. */
export function liveCallLine(call: ContextCall): string {
  return callLine({ ...call, args_display: "" }, titleOf(call));
}

export function archivedCallLine(call: ArchivedCall): string {
  return callLine(call, call.args_display);
}

/** The line about a file. */
export function fileLine({ id, source, characters }: ActivatedObject): string {
  const path = source.kind === "file" ? source.path : "";
  return `- id=${id} type=file path=${path} file_type=${fileType(path)} char_count=${characters}`;
}

function sizeOf(characters: number | undefined): string {
  return characters === undefined ? "no text" : `${characters} characters`;
}

const references = new WeakMap<ToolResultMessage, ToolResultMessage>();

/** The reference that replaces a result. The same result gives the same reference. */
export function referenceTo({ id, tool, status, characters, result }: ContextCall): ToolResultMessage {
  const known = references.get(result);
  if (known) return known;
  const text = `[toolcall_ref id=${id} tool=${tool} status=${status}, ${sizeOf(characters)}; ${contextTools.activate} shows it]`;
  const reference: ToolResultMessage = { ...result, content: [{ type: "text", text }] };
  references.set(result, reference);
  return reference;
}
