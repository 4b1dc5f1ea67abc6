import { joinOrigins, webOrigin } from "./origins.ts";

/** Tools of nodes whose arguments are a file's content or a search: an address in these is not opened. */
const localTools = ["Read", "Write", "Edit", "Glob", "Grep"];

/** `scheme://user@host`. The bounds keep the search linear. */
const address = /[a-z][a-z0-9+.-]{1,15}:\/\/(?:[^\s/"'@\\]{1,100}@)?([a-z0-9._-]{1,253})/gi;

/** `user@host:`, as of scp and git. */
const remote = /[\w.-]{1,64}@([a-z0-9.-]{1,253}):/gi;

/** What stands before a program's name, and options between a program and its command. The bounds keep the search linear. */
const start = String.raw`(?:^|[\s;&|(\x60"'/])`;
const options = String.raw`(?:\s+-\S{1,60}(?:\s+[^\s-]\S{0,100})?){0,6}`;

/** Programs that show what the network says, also without an address among their arguments. */
const fetchers = new RegExp(
  `${start}(?:(?:(?<page>curl|wget|lynx|w3m|xh|http)|(?<other>gh|ssh|nc))(?!["']?\\s*$)|` +
    `(?<tool>git)${options}\\s+(?<gitCommand>clone|fetch|pull|ls-remote|submodule)|` +
    `(?<manager>npm|pnpm|yarn|pip3?)${options}\\s+(?<query>view|info|show|search))(?:\\.exe)?(?![\\w:./-])`,
  "g",
);

/** A host of the machine itself or of its network: a name without a dot, or a loopback address. */
const nearby = /^[^.]*$|^127\.[\d.]+$|^0\.0\.0\.0$/;

const wholeAddress = new RegExp(`${address.source}[\\w./:?&=-]*`, "gi");

/** What may name another host beside an address: a name with a dot, an expansion, a file of options. */
const another = /[\w-]\.[a-z]|[$`]|\s-K|\s--config\b/i;

/** The hosts whose words a node's call fetches, as far as its arguments say. @param tool without the node's prefix */
export function fetchedFrom(tool: string, args: unknown): string[] {
  if (localTools.includes(tool)) return [];
  const text = stringsIn(args).join("\n");
  const named = [...text.matchAll(address), ...text.matchAll(remote)].map(([, host = ""]) => host);
  const far = named.filter((host) => !nearby.test(host));
  return joinOrigins((far.length > 0 ? far : programsIn(text, named.length > 0)).map(webOrigin));
}

/** The programs of a text that fetch. @param isNear whether it names hosts, all of them nearby: then pages may be theirs */
function programsIn(text: string, isNear: boolean): string[] {
  const pagesAreNear = isNear && !another.test(text.replaceAll(wholeAddress, ""));
  return [...text.matchAll(fetchers)].flatMap(({ groups = {} }) => {
    const { page, other, tool, gitCommand, manager, query } = groups;
    if (page !== undefined) return pagesAreNear ? [] : [page];
    return [other ?? (tool ? `${tool} ${gitCommand}` : `${manager} ${query}`)];
  });
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
