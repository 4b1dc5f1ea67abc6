/** A call of a node's tool. Paths and patterns have the format of the node's tools. */
export interface NodeRequest {
  kind: "list" | "read" | "run";
  tool: "Glob" | "Read" | "Bash";
  args: Record<string, unknown>;
}

/** What the user asks for. */
export type Request =
  | NodeRequest
  /** A background command has ended. `report` is JSON (docs/background-commands.md). */
  | { kind: "ended"; report: string }
  | { kind: "remember"; fact: string }
  | { kind: "recall"; about: string }
  | { kind: "nodes" | "help" | "unknown" };

/** A request, and the node that it names. */
export interface Intent {
  request: Request;
  on?: string;
}

/** Creates a request from the capture groups of a rule; undefined if they do not fit. */
type MakeRequest = (...groups: (string | undefined)[]) => Request | undefined;

/** Patterns of sentences and their requests. The first rule that returns a request applies. */
const rules: [says: RegExp, make: MakeRequest][] = [
  [/^(?:[$!]|(?:run|execute)\b:?)\s*(.+)$/is, run],
  [/^(pwd|whoami|hostname|uptime|date|ls\s+-.+|git\s+(?:status|log|diff|branch|show)(?:\s.+)?)$/, run],
  [/^what(?:['’]s| is)? (?:the )?(?:time|date|day)(?: is it)?$/i, () => run("date")],
  [/^(?:what )?do you (?:remember|know)(?: about)?(?:\s+(.+))?$/i, (about = "everything") => recall(about)],
  [/^what (?:is my|do i)\s+(.+)$/i, (about = "") => recall(about)],
  [
    /^(?:remember|note|don['’]?t forget)(?: that)?\s*:?\s+(.+)$/is,
    (fact = "") => ({ kind: "remember", fact: fact.replaceAll(/\s+/g, " ").trim() }),
  ],
  [
    /^(?:(?:which|what|list|show)(?: me)?(?: the)? )?(?:nodes|machines)(?: are)?(?: there| connected)*$/i,
    () => ({ kind: "nodes" }),
  ],
  [
    /^(?:(?:which|what|list|show)(?: me)? )?(all )?(?:the )?files(?: are| do you see)?(?: there| here)?(?: (?:in|under|of) (.+))?$/i,
    (all, place) => list(place, all ? "**/*" : "*"),
  ],
  [/^(?:ls|list)(?: (.+))?$/i, (place) => list(place)],
  [/^find (\S+)$/i, (name) => list(undefined, `**/${name}`)],
  [/^read (?:the )?(?:file )?(.+)$/i, read],
  [/^(?:cat|show|open|what(?:['’]s| is) in)(?: me)? (?:the )?(?:contents? of )?(.+)$/i, show],
  [/^what does (\S+) (?:say|contain)$/i, read],
  [
    /^(?:help|what can (?:you do|i ask)|who are you|hi|hello|hey|thanks|thank you)$/i,
    () => ({ kind: "help" }),
  ],
];

/** Max length of a message that the rules are tried on, in characters. */
const maxLength = 4000;

/**
 * Understands one message. It may name a node first (“on laptop, …”) or last (“… on laptop”).
 * @param nodes ids of the connected nodes: only these are recognized at the end of a sentence
 */
export function readIntent(text: string, nodes: readonly string[]): Intent {
  const report = /^System event: async_exec_completion\n(\{.*\})$/s.exec(text)?.[1];
  if (report !== undefined) return { request: { kind: "ended", report } };
  const said = withoutCourtesy(text.trim());
  if (text.length > maxLength) return { request: { kind: "unknown" } };
  const foreground = said.replace(/^([^$!].*)\s+in (?:the )?background\b/i, "$1");
  const intent = nameNode(foreground, nodes);
  if (foreground === said) return intent;
  if (intent.request.kind !== "run") return nameNode(said, nodes);
  const args = { ...intent.request.args, background: true };
  return { ...intent, request: { ...intent.request, args } };
}

/** Separates the node's name from the request. */
function nameNode(said: string, nodes: readonly string[]): Intent {
  const [, first, rest = ""] = /^on (?:the )?([\w.-]+?)[,:]? (.+)$/is.exec(said) ?? [];
  const request = requestOf(withoutCourtesy(rest));
  if (first !== undefined && request.kind !== "unknown") return { request, on: first };
  const [, before = "", last = ""] = /^([^$!].*) on (?:the )?([\w.-]+)$/is.exec(said) ?? [];
  const isNode = nodes.some((node) => plainName(node) === plainName(last));
  return isNode ? { request: requestOf(before), on: last } : { request: requestOf(said) };
}

/** A node's name without case and punctuation, to compare it with another. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_");
}

function requestOf(text: string): Request {
  for (const [says, make] of rules) {
    const match = text.match(says);
    const request = match && make(...match.slice(1));
    if (request) return request;
  }
  return { kind: "unknown" };
}

/** Removes “please”, “can you” and closing punctuation. A command behind `$` is not changed. */
function withoutCourtesy(text: string): string {
  if (/^[$!]/.test(text)) return text;
  return text
    .replace(/^(?:(?:@\w+|hey|ok|please|(?:can|could|would|will) you)\b[,:]?\s+(?=\S))+/i, "")
    .replace(/[\s,]+please\s*[.!?]*$|\s*[?!]+$|(?<=\w)\.$/i, "")
    .trim();
}

/** A command, also one in backticks or in a code block. */
function run(phrase = ""): NodeRequest | undefined {
  const command = (/^```\w*\n([\s\S]+?)\n?```$/.exec(phrase)?.[1] ?? unquote(phrase)).trim();
  return command === "" ? undefined : { kind: "run", tool: "Bash", args: { command } };
}

function recall(about: string): Request {
  return { kind: "recall", about };
}

/** The files of a folder, or those that a glob matches. */
function list(place = "", pattern = "*"): NodeRequest | undefined {
  const path = unquote(
    place.replace(/^(?:the|this|my) /i, "").replace(/^(?:current )?(?:folder|directory)$| folder$/i, ""),
  );
  if (/\s/.test(path)) return undefined;
  const args = path.includes("*") ? { pattern: path } : { pattern, ...(path === "" ? {} : { path }) };
  return { kind: "list", tool: "Glob", args };
}

function read(phrase = ""): NodeRequest | undefined {
  const path = unquote(phrase);
  if (/\s/.test(path) && path === phrase) return undefined;
  return { kind: "read", tool: "Read", args: { path: /^readme$/i.test(path) ? "README.md" : path } };
}

/** Reads what has a file extension, and lists other places. */
function show(phrase = ""): NodeRequest | undefined {
  return /\.\w+$/.test(phrase) ? read(phrase) : list(phrase);
}

/** Removes quotation marks or backticks around a text. */
function unquote(text: string): string {
  return text.trim().replace(/^(["'`])([\s\S]+)\1$/, "$2");
}
