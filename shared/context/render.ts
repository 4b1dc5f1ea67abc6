import { fileType } from "../objects/file.ts";
import { activeHeading } from "../objects/wire-messages.ts";
import type { ActivatedObject, ArchivedCall } from "../protocol/context-objects.ts";
import type { ImageBlock, Message, TextBlock, ToolResultMessage, UserMessage } from "../protocol/messages.ts";
import { type ContextCall, contextTools, isContextTool, titleOf } from "./context-calls.ts";
import type { ContextView } from "./view.ts";

/** The rendered conversation: `messages` has one message for each stored one; `before` and `after` surround them. */
export interface RenderedContext {
  before: readonly Message[];
  messages: readonly Message[];
  after: readonly Message[];
}

/** Content of the objects shown after the conversation; null when the text no longer exists. */
export type ExtraContent = ReadonlyMap<string, string | null>;

type Block = TextBlock | ImageBlock;

/** Limits for the list of objects and for the other active content, in characters. */
export interface RenderLimits {
  list: number;
  extras: number;
}

/**
 * Renders a conversation for a model. `inline`: active results at their calls, other active content after the conversation.
 * `pools`: a list of all objects, the conversation with a reference for each result, and the active content. The same view
 * gives the same messages.
 */
export function renderContext(
  messages: readonly Message[],
  view: ContextView,
  extras: ExtraContent,
  limits: RenderLimits,
): RenderedContext {
  return view.settings.rendering === "pools"
    ? renderPools(messages, view, extras, limits)
    : renderInline(messages, view, extras, limits);
}

function renderInline(
  messages: readonly Message[],
  view: ContextView,
  extras: ExtraContent,
  limits: RenderLimits,
): RenderedContext {
  const shown = withReferences(messages, view, (call) => !view.active.has(call));
  const [head, ...rest] = shown;
  const list = archivedList(view, limits.list);
  const listed = head?.role === "user" && list.length > 0 ? [withList(head, list), ...rest] : shown;
  return {
    before: [],
    messages: listed,
    after: activeMessage(messages, extraBlocks(view, extras, limits.extras)),
  };
}

function renderPools(
  messages: readonly Message[],
  view: ContextView,
  extras: ExtraContent,
  limits: RenderLimits,
): RenderedContext {
  const lines = [
    ...archivedList(view, limits.list),
    // Calls of this turn are listed only by their references: the list must not change between steps (prompt cache).
    ...view.calls.filter((call) => call.turn < view.turn && !isContextTool(call.tool)).map(liveCallLine),
    ...view.extras.filter(({ source }) => source.kind === "file").map(fileLine),
  ];
  const [first] = messages;
  const pool: UserMessage[] =
    lines.length > 0 && first ? [{ role: "user", content: listText(lines), timestamp: first.timestamp }] : [];
  const active = view.calls.filter((call) => view.active.has(call) && !isContextTool(call.tool));
  return {
    before: pool,
    messages: withReferences(messages, view, (call) => !isContextTool(call.tool)),
    after: activeMessage(messages, [...active.map(callBlocks), ...extraBlocks(view, extras, limits.extras)]),
  };
}

function withReferences(
  messages: readonly Message[],
  { calls }: ContextView,
  isReference: (call: ContextCall) => boolean,
): readonly Message[] {
  const shown = [...messages];
  for (const call of calls) if (isReference(call)) shown[call.index] = referenceTo(call);
  return shown;
}

const listNote = `Objects of this conversation that it does not show; ${contextTools.activate} shows one by its id.`;

function listText(lines: readonly string[]): string {
  return `<known_objects>\n${listNote}\n${lines.join("\n")}\n</known_objects>`;
}

function withList(summary: UserMessage, lines: readonly string[]): UserMessage {
  const list: TextBlock = { type: "text", text: listText(lines) };
  const { content } = summary;
  const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return { ...summary, content: [...blocks, list] };
}

/** A line for each archived call, as many of the newest as fit, and the number of the others. */
function archivedList({ archived, more }: ContextView, maxCharacters: number): string[] {
  const lines: string[] = [];
  let room = maxCharacters;
  for (const call of [...archived].reverse() as ArchivedCall[]) {
    const line = archivedCallLine(call);
    room -= line.length + 1;
    if (room < 0) break;
    lines.unshift(line);
  }
  const left = archived.length - lines.length + more;
  return left > 0
    ? [`- … ${left} older calls that are not listed; their ids are accepted too`, ...lines]
    : lines;
}

function callBlocks(call: ContextCall): Block[] {
  const texts = call.result.content.map(
    (block): Block => (block.type === "text" ? { type: "text", text: fenced(block.text) } : block),
  );
  return fence(call.id, titleOf(call), texts);
}

/** Content that does not fit is replaced by its size: the window may have become smaller since the activation. */
function extraBlocks({ extras }: ContextView, content: ExtraContent, maxCharacters: number): Block[][] {
  let room = maxCharacters;
  return extras.flatMap((object) => {
    const text = content.get(object.id);
    if (text === undefined || text === null) return [];
    const isShown = text.length <= room;
    if (isShown) room -= text.length;
    const shown = isShown ? fenced(text) : `(omitted: ${text.length} characters, but only ${room} fit)`;
    return [fence(object.id, titleOfExtra(object), [{ type: "text", text: shown }])];
  });
}

function titleOfExtra({ title, source }: ActivatedObject): string {
  return source.kind === "file" && source.hash ? `${title}, as it was pinned` : title;
}

/** Puts an object between tags; the result is one text if the object has no image. */
function fence(id: string, title: string, content: readonly Block[]): Block[] {
  const open = `<object id="${attribute(id)}" source="${attribute(title)}">\n`;
  const [only] = content;
  if (content.length === 1 && only?.type === "text")
    return [{ type: "text", text: `${open}${only.text}\n</object>` }];
  return [{ type: "text", text: open }, ...content, { type: "text", text: "</object>" }];
}

/** Escapes tags in an object's text, so that it cannot close its own tag. */
function fenced(text: string): string {
  return text.replace(/<(\/?)(?=object\b)/gi, "&lt;$1");
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

/** The message with the active objects, after the conversation; empty when there are none. */
function activeMessage(messages: readonly Message[], objects: readonly Block[][]): Message[] {
  if (objects.length === 0) return [];
  const timestamp = messages.at(-1)?.timestamp ?? 0;
  const content: Block[] = [{ type: "text", text: activeHeading }, ...objects.flat()];
  return [{ role: "user", content, timestamp }];
}

/** The line about a call whose result the model does not see. */
function callLine({ id, tool, status, characters }: Omit<ArchivedCall, "at" | "line">, args: string) {
  return `- id=${id} type=toolcall tool=${tool} args=${args} status=${status} ${sizeOf(characters)}`;
}

/** The line about a live call. */
function liveCallLine(call: ContextCall): string {
  return callLine({ ...call, args_display: "" }, titleOf(call));
}

function archivedCallLine(call: ArchivedCall): string {
  return callLine(call, call.args_display);
}

/** The line about a file. */
function fileLine({ id, source, characters }: ActivatedObject): string {
  const path = source.kind === "file" ? source.path : "";
  return `- id=${id} type=file path=${path} file_type=${fileType(path)} char_count=${characters}`;
}

function sizeOf(characters: number | undefined): string {
  return characters === undefined ? "no text" : `${characters} characters`;
}

const references = new WeakMap<ToolResultMessage, ToolResultMessage>();

/** The reference that replaces a result. The same result gives the same reference. */
function referenceTo({ id, tool, status, characters, result }: ContextCall): ToolResultMessage {
  const known = references.get(result);
  if (known) return known;
  const text = `[toolcall_ref id=${id} tool=${tool} status=${status}, ${sizeOf(characters)}; ${contextTools.activate} shows it]`;
  const reference: ToolResultMessage = { ...result, content: [{ type: "text", text }] };
  references.set(result, reference);
  return reference;
}
