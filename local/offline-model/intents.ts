import { nodeNamed } from "./offered-tools.ts";
import type { MakeWish, Wish } from "./requests.ts";
import {
  findWish,
  listWish,
  readLines,
  readWish,
  recallWish,
  rememberWish,
  runWish,
  searchInWish,
  searchWish,
  showWish,
} from "./requests.ts";
import { looksLikeFile } from "./words.ts";

export interface Intent {
  wish: Wish;
  /** Names of nodes as they were said; empty for none. */
  on: string[] | "all";
}

/** Sentences and what they ask for. The first rule that makes a wish has it, so the order matters. */
const rules: [says: RegExp, wish: MakeWish][] = [
  [/^[$!]\s*(.+)$/s, (command = "") => ({ kind: "run", command: command.trim() })],
  [
    /^(pwd|whoami|hostname|uptime|date|uname(?:\s+-\w+)?|df(?:\s+-h)?|ls\s+-.+|git\s+(?:status|log|diff|branch|show)(?:\s.+)?)$/,
    runWish,
  ],
  [/^(?:run|execute|exec)\b(?:\s+(?:the\s+|this\s+)?(?:shell\s+)?command\b)?\s*:?\s*(.+)$/is, runWish],
  [/^what(?:['’]s| is)? (?:the )?(?:time|date|day)(?: is it)?(?: today| now)?$/i, () => runWish("date")],
  [/^where (?:am i|are we|are you)$/i, () => runWish("pwd")],

  [/^(?:what|which things) do you (?:remember|know)(?:\s+about\s+(.+))?$/i, recallWish],
  [/^what (?:have|did) i (?:told|tell|asked|ask) you(?: to remember)?(?:\s+about\s+(.+))?$/i, recallWish],
  [/^(?:do you remember|recall)(?:\s+(.+))?$/i, recallWish],
  [/^(?:show|read|open)(?: me)? (?:your|the|my) memor(?:y|ies)$/i, () => recallWish()],
  [
    /^(?:remember|memori[sz]e|keep in mind|note|take note|make a note|don['’]?t forget|do not forget|write down)(?:\s+(?:that|this|of|down))?\s*:?\s+(.+)$/is,
    rememberWish,
  ],

  [
    /^(?:(?:which|what|list|show)(?: me)?(?: the| all)? )?(?:nodes|machines|computers|devices)(?: are)?(?: there| connected| online| available)*$/i,
    () => ({ kind: "nodes" }),
  ],

  [/^(?:which|what) files (?:contain|mention|use|have|include|import|say)s?\s+(.+)$/i, searchWish],
  [/^(?:search|grep|look|scan)\s+(?:in\s+|through\s+)?(\S+|"[^"]+")\s+for\s+(.+)$/i, searchInWish],
  [
    /^find\s+(?:me\s+)?(?:all\s+|the\s+|any\s+)?(?:files?\s+(?:named|called)\s+|file\s+)(.+?)(?:\s+in\s+(.+))?$/i,
    findWish,
  ],
  [
    /^(?:find|where(?:['’]s| is| are)|locate)\s+(?:the\s+(?:file\s+)?)?(\S+?)(?:\s+files?)?(?:\s+(?:in|under)\s+(.+))?$/i,
    (name = "", place) => (looksLikeFile(name) || name.startsWith("*.") ? findWish(name, place) : undefined),
  ],
  [/^(?:search|grep|look|scan|find|locate)\s+(?:for\s+)?(.+)$/i, searchWish],
  [
    /^where(?:['’]s|\s+(?:is|are|do|does|can|did))\s+(?:we\s+|i\s+|you\s+)?(?:the\s+|find\s+|use\s+)?(.+?)(?:\s+(?:defined|used|mentioned|declared|implemented|located|called|appears?|occurs?|come from))?$/i,
    searchWish,
  ],

  [
    /^(?:show|read|print|give)(?: me)?\s+(?:the\s+)?first\s+(\d{1,5})\s+lines\s+(?:of|from|in)\s+(.+)$/i,
    (count, name) => readLines(name, "1", count),
  ],
  [
    /^(?:(?:show|read|print|give)(?: me)?\s+)?(?:the\s+)?lines?\s+(\d{1,7})\s*(?:-|–|to|through|and)\s*(\d{1,7})\s+(?:of|from|in)\s+(.+)$/i,
    (first, last, name) => readLines(name, first, last),
  ],
  [/^read\s+(\S+|"[^"]+")\s+from\s+line\s+(\d{1,7})$/i, (name, first) => readLines(name, first)],

  [
    /^(?:list|show|give|enumerate)(?: me)?\s+(all\s+)?(?:the\s+|my\s+)?(?:(\S+)\s+)?files(?: there)?(?:\s+(?:in|under|inside|of|within|from|at)\s+(.+)|\s+(here))?$/i,
    (all, kind, place, here) => listWish(place ?? here, kind, all !== undefined),
  ],
  [
    /^(?:which|what)\s+(?:(\S+)\s+)?files\b(?:\s+(?:are|is|exist|do \w+ (?:have|see)|can you see))?(?: there)?(?:\s+(?:in|under|inside|of|within|at)\s+(.+)|\s+(here))?$/i,
    (kind, place, here) => listWish(place ?? here, kind),
  ],
  [/^(?:files|(?:ls|dir|list)(?:\s+(.+))?)$/i, (place) => listWish(place)],
  [
    /^(?:show me )?what(?:['’]s| is| are)?\s+(?:(here)|(?:in|inside|under)\s+(.+))$/i,
    (here, name = here) => (name && looksLikeFile(name) ? readWish(name) : listWish(name)),
  ],
  [/^what does\s+(.+?)\s+(?:say|contain|hold)$/i, (name) => readWish(name)],
  [/^(?:read|cat)\s+(.+)$/i, (name) => readWish(name)],
  [/^(?:show|open|print|display|view)(?: me)?\s+(.+)$/i, showWish],

  [
    /^(?:help|commands|what can (?:you do|i (?:ask|say|do))\b.*|how (?:do i use you|does this work)|who are you|what are you)$/i,
    () => ({ kind: "help" }),
  ],
  [
    /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you)\b.{0,24}$/i,
    () => ({ kind: "help" }),
  ],
];

/** Nothing longer is looked at, in characters: it is no request of the kind the rules know. */
const longest = 4000;

/** Understands one message. `nodes` are the ids of the connected ones, so that their names are told from other words. */
export function readIntent(text: string, nodes: readonly string[]): Intent {
  if (text.length > longest) return { wish: { kind: "unknown" }, on: [] };
  const said = withoutCourtesy(text.trim());
  const leading = leadingNodes(said, nodes);
  const { on, rest } = leading.on.length > 0 ? leading : trailingNodes(said, nodes);
  const wish = wishOf(withoutCourtesy(rest));
  if (wish.kind !== "unknown" || on.length > 0) return { wish, on };
  return onUnknownNode(rest) ?? { wish, on };
}

/** “list files on phone”, where no phone is connected: only what makes sense without the last two words. */
function onUnknownNode(text: string): Intent | undefined {
  const [, rest, name] = text.match(/^(.+)\s+on\s+(?:the\s+)?(?:node\s+|machine\s+)?([\w.-]+)$/is) ?? [];
  const wish = rest === undefined ? undefined : wishOf(rest);
  return wish && name && (wish.kind === "list" || wish.kind === "read") ? { wish, on: [name] } : undefined;
}

function wishOf(text: string): Wish {
  for (const [says, make] of rules) {
    const match = text.match(says);
    const wish = match && make(...match.slice(1));
    if (wish) return wish;
  }
  return { kind: "unknown" };
}

const politeness =
  /^(?:@\w+|hey|ok|okay|now|then|so|please|kindly|(?:can|could|would|will) you|i (?:want|need) you to|i['’]d like you to|let['’]?s|just)\b[,:]?\s+(?=\S)/i;

/** Takes “please”, “can you”, a closing question mark and their like away. What follows `$` stays as it is. */
function withoutCourtesy(text: string): string {
  if (/^[$!]/.test(text)) return text;
  let rest = text;
  for (let match = rest.match(politeness); match; match = rest.match(politeness))
    rest = rest.slice(match[0].length);
  return rest
    .replace(/(?<=\S)[\s,]+(?:please|thanks|thank you)[.!?]*$/i, "")
    .replace(/(?<=[\w)"'`’/*])\s*[?!]+$|(?<=[\w)"'`’])\.$/, "")
    .trim();
}

interface Place {
  on: string[] | "all";
  rest: string;
}

const everyNode =
  /^(?:all|every|each|both)(?:\s+of)?(?:\s+(?:the|my|our|them))?(?:\s+(?:nodes?|machines?|computers?|devices?))?\b[,:]?\s*/i;

/** “on laptop, …”, “on laptop and server …”, “on all nodes …”. */
function leadingNodes(text: string, nodes: readonly string[]): Place {
  const start = text.match(/^(?:on|at)\s+(?=\S)/i);
  if (!start) return { on: [], rest: text };
  const after = text.slice(start[0].length);
  const every = after.match(everyNode);
  if (every) return { on: "all", rest: after.slice(every[0].length) };
  const on: string[] = [];
  let rest = after.replace(/^(?:the\s+)?(?:node\s+|machine\s+)?/i, "");
  for (;;) {
    const next = rest.match(/^(?:and\s+|&\s*)?([\w.-]+)\s*[,:]?\s+(?=\S)/i);
    const name = next?.[1];
    if (!next || name === undefined) break;
    if (on.length > 0 && nodeNamed(name, nodes) === undefined) break;
    on.push(name.replace(/[.]$/, ""));
    rest = rest.slice(next[0].length);
  }
  const known = on.every((name) => nodeNamed(name, nodes) !== undefined);
  // Only words that are followed by a request are taken for the name of a node that is not there.
  return on.length > 0 && (known || wishOf(rest).kind !== "unknown") ? { on, rest } : { on: [], rest: text };
}

/** “… on laptop”, “… on laptop and server”, “… on all nodes”: only the names of connected nodes. */
function trailingNodes(text: string, nodes: readonly string[]): Place {
  if (/^[$!]/.test(text)) return { on: [], rest: text };
  const match = text.match(/^(.+)\s+(?:on|at|from)\s+(?:the\s+)?(?:node\s+|machine\s+)?([\s\S]+)$/is);
  const [, rest = text, tail = ""] = match ?? [];
  if (match && tail.replace(everyNode, "") === "") return { on: "all", rest };
  const names = tail.split(/\s*,\s*(?:and\s+)?|\s+(?:and|&)\s+/).filter((name) => name !== "");
  const known = names.length > 0 && names.every((name) => nodeNamed(name, nodes) !== undefined);
  return known ? { on: names, rest } : { on: [], rest: text };
}
