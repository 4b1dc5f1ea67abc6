/**
 * The user's request. Paths and patterns have the format of the node's tools. Without a path: the node's
 * workspace.
 */
export type Request =
  | { kind: "list"; pattern: string; path?: string }
  | { kind: "read"; path: string }
  | { kind: "run"; command: string; background?: true }
  /** A command that ran in the background has ended. `report` is JSON. */
  | { kind: "ended"; report: string }
  | { kind: "remember"; fact: string }
  | { kind: "recall"; about?: string }
  | { kind: "nodes" }
  | { kind: "help" }
  | { kind: "unknown" };

/** A request, and the node that was named for it. */
export interface Intent {
  request: Request;
  on?: string;
}

/**
 * Creates a request from the capture groups of a rule. Undefined when they do not fit this kind of request.
 */
type MakeRequest = (...groups: (string | undefined)[]) => Request | undefined;

/** Patterns of sentences and their requests. The first rule that returns a request is used. */
const rules: [says: RegExp, make: MakeRequest][] = [
  [/^[$!]\s*(.+)$/s, run],
  [/^(pwd|whoami|hostname|uptime|date|ls\s+-.+|git\s+(?:status|log|diff|branch|show)(?:\s.+)?)$/, run],
  [/^(?:run|execute|exec)\b(?:\s+(?:the\s+|this\s+)?(?:shell\s+)?command\b)?\s*:?\s*(.+)$/is, run],
  [/^what(?:['’]s| is)? (?:the )?(?:time|date|day)(?: is it)?(?: today| now)?$/i, () => run("date")],

  [/^(?:what|which things) do you (?:remember|know)(?:\s+about\s+(.+))?$/i, recall],
  [/^what (?:have|did) i (?:told|tell|asked|ask) you(?: to remember)?(?:\s+about\s+(.+))?$/i, recall],
  [/^what (?:do i|is my|are my)\s+(.+)$/i, recall],
  [/^(?:do you remember|recall)(?:\s+(.+))?$/i, recall],
  [/^(?:show|read|open)(?: me)? (?:your|the|my) memor(?:y|ies)$/i, () => ({ kind: "recall" })],
  [
    /^(?:remember|memori[sz]e|keep in mind|note|take note|make a note|don['’]?t forget|do not forget|write down)(?:\s+(?:that|this|of|down))?\s*:?\s+(.+)$/is,
    (fact = "") => ({ kind: "remember", fact: fact.replaceAll(/\s+/g, " ").trim() }),
  ],

  [
    /^(?:(?:which|what|list|show)(?: me)?(?: the| all)? )?(?:nodes|machines|computers|devices)(?: are)?(?: there| connected| online)*$/i,
    () => ({ kind: "nodes" }),
  ],

  [
    /^(?:list|show|give)(?: me)?\s+(all\s+)?(?:the\s+|my\s+)?files(?: there)?(?:\s+(?:in|under|inside|of|within|from|at)\s+(.+)|\s+here)?$/i,
    (all, place) => list(place, all !== undefined),
  ],
  [
    /^(?:which|what)\s+files\b(?:\s+(?:are|is|exist|do \w+ (?:have|see)|can you see))?(?: there)?(?:\s+(?:in|under|inside|of|within|at)\s+(.+)|\s+here)?$/i,
    (place) => list(place),
  ],
  [/^(?:files|(?:ls|dir|list)(?:\s+(.+))?)$/i, (place) => list(place)],
  [/^(?:find|where(?:['’]s| is)|locate)\s+(?:the\s+)?(?:file\s+)?(\S+)$/i, find],
  [/^(?:show me )?what(?:['’]s| is| are)?\s+(?:here|(?:in|inside|under)\s+(.+))$/i, show],
  [/^what does\s+(.+?)\s+(?:say|contain|hold)$/i, read],
  [/^(?:read|cat)\s+(.+)$/i, read],
  [/^(?:show|open|print|display|view)(?: me)?\s+(.+)$/i, show],

  [
    /^(?:help|commands|what can (?:you do|i (?:ask|say|do))\b.*|how (?:do i use you|does this work)|who are you|what are you)$/i,
    () => ({ kind: "help" }),
  ],
  [
    /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you)\b.{0,24}$/i,
    () => ({ kind: "help" }),
  ],
];

/** Maximum length of an understood message, in characters. */
const longest = 4000;

/**
 * Understands one message. A node may be named first (“on laptop, …”) or last (“… on laptop”).
 * @param nodes ids of the connected nodes: only these are looked for at the end of a sentence
 */
export function readIntent(text: string, nodes: readonly string[]): Intent {
  const report = /^System event: async_exec_completion\n(\{.*\})$/s.exec(text)?.[1];
  if (report !== undefined) return { request: { kind: "ended", report } };
  if (text.length > longest) return { request: { kind: "unknown" } };
  const said = backgroundFirst(withoutCourtesy(text.trim()), nodes);
  const [, first, rest = ""] = /^on\s+(?:the\s+)?([\w.-]+?)[,:]?\s+(.+)$/is.exec(said) ?? [];
  const request = first === undefined ? undefined : requestOf(withoutCourtesy(rest));
  if (request && request.kind !== "unknown") return { request, on: first };
  const [, before = "", last = ""] = /^([^$!].*)\s+on\s+(?:the\s+)?([\w.-]+)$/is.exec(said) ?? [];
  return isNamed(last, nodes) ? { request: requestOf(before), on: last } : { request: requestOf(said) };
}

/** “run x in the background on laptop” of “run x on laptop in the background”. */
function backgroundFirst(said: string, nodes: readonly string[]): string {
  const [, before, on, name = "", background] =
    /^([^$!].*?)(\s+on\s+(?:the\s+)?([\w.-]+))(\s+in (?:the )?background)$/is.exec(said) ?? [];
  return isNamed(name, nodes) ? `${before}${background}${on}` : said;
}

/** Whether a name equals the id of a node, ignoring case and punctuation. */
function isNamed(name: string, nodes: readonly string[]): boolean {
  return nodes.some((node) => plainName(node) === plainName(name));
}

/** Normalizes a node's name for comparison. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_");
}

function requestOf(text: string): Request {
  const [, before] = /^([^$!].*\S)\s+in (?:the )?background$/is.exec(text) ?? [];
  const inBackground = before === undefined ? undefined : requestOf(before);
  if (inBackground?.kind === "run") return { ...inBackground, background: true };
  for (const [says, make] of rules) {
    const match = text.match(says);
    const request = match && make(...match.slice(1));
    if (request) return request;
  }
  return { kind: "unknown" };
}

const courtesy =
  /^(?:@\w+|hey|ok|okay|now|then|so|please|(?:can|could|would|will) you|i (?:want|need) you to|let['’]?s|just)\b[,:]?\s+(?=\S)/i;

/** Removes “please”, “can you”, a closing question mark and the like. A command behind `$` stays as it is. */
function withoutCourtesy(text: string): string {
  if (/^[$!]/.test(text)) return text;
  let rest = text;
  while (courtesy.test(rest)) rest = rest.replace(courtesy, "");
  return rest
    .replace(/(?<=\S)[\s,]+(?:please|thanks|thank you)[.!?]*$/i, "")
    .replace(/(?<=[\w)"'`’/*])\s*[?!]+$|(?<=[\w)"'`’])\.$/, "")
    .trim();
}

/** A command as it stands, or in backticks or a code block. */
function run(phrase = ""): Request | undefined {
  const block = phrase.match(/^```\w*\n([\s\S]+?)\n?```$/)?.[1];
  const command = (block ?? unquote(phrase)).trim();
  return command === "" ? undefined : { kind: "run", command };
}

function recall(about?: string): Request {
  const isEverything = about === undefined || /^(?:me|us|myself|everything|anything)$/i.test(about);
  return isEverything ? { kind: "recall" } : { kind: "recall", about };
}

/** The files of a folder, or those that a glob matches. */
function list(place = "", all = false): Request | undefined {
  if (/[*?]/.test(place)) return /\s/.test(place) ? undefined : { kind: "list", pattern: unquote(place) };
  const path = folderOf(place);
  if (path !== undefined && /\s/.test(path) && unquote(place) === place) return undefined;
  return { kind: "list", pattern: all ? "**/*" : "*", path };
}

/** Files by name, in every folder. */
function find(name = ""): Request | undefined {
  const file = unquote(name);
  if (!isFileName(file)) return undefined;
  return { kind: "list", pattern: file.includes("/") ? file : `**/${file}` };
}

function read(phrase = ""): Request | undefined {
  const bare = phrase
    .replace(/^(?:the\s+)?(?:contents?|text)\s+of\s+/i, "")
    .replace(/^(?:the|my|this|that)\s+/i, "")
    .replace(/^file\s+|\s+file$/gi, "");
  const path = unquote(bare);
  if (/\s/.test(path) && path === bare) return undefined;
  return { kind: "read", path: /^readme$/i.test(path) ? "README.md" : path };
}

/** Reads a file, or lists a folder: the name decides. */
function show(phrase?: string): Request | undefined {
  const file = read(phrase);
  return file?.kind === "read" && isFileName(file.path) ? file : list(phrase);
}

function isFileName(name: string): boolean {
  return /[^/]\.\w{1,8}$|^(?:.*\/)?\.\w+$/.test(name);
}

/** The folder that a phrase names; undefined for the node's own. */
function folderOf(phrase: string): string | undefined {
  const bare = phrase
    .trim()
    .replace(/^(?:the|this|that|my)\s+/i, "")
    .replace(/^(?:current|working)\s+/i, "");
  if (
    /^(?:|\.|here|all|everything|folder|directory|workspace|project|repo|repository|machine)$/i.test(bare)
  ) {
    return undefined;
  }
  return unquote(bare.replace(/^(?:folder|directory)\s+|\s+(?:folder|directory)$/gi, ""));
}

/** A text without the quotation marks or backticks around it. */
function unquote(text: string): string {
  return text.trim().replace(/^(["'`])([\s\S]+)\1$/, "$2");
}
