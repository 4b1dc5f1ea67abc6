import { joinOrigins, webOrigin } from "./origins.ts";

/** Tools of nodes whose arguments are a file's content or a search: an address in these is not opened. */
const localTools = ["Read", "Write", "Edit", "Glob", "Grep"];

/** `scheme://user@host`. The bounds keep the search linear. */
const address = /[a-z][a-z0-9+.-]{1,15}:\/\/(?:[^\s/"'@\\]{1,100}@)?([a-z0-9._-]{1,253})/gi;

/** `user@host:`, as of scp and git. */
const remote = /[\w.-]{1,64}@([a-z0-9.-]{1,253}):/gi;

/** Programs that show what the network says, also without an address among their arguments. */
const fetchers =
  /(?:^|[\s;&|(`"/])(curl|wget|lynx|w3m|xh|http|gh|ssh|nc|git\s+(?:clone|fetch|pull)|(?:npm|pnpm|yarn|pip)\s+(?:view|info|show|search))\s/g;

/** A host of the machine itself or of its network: a name without a dot, or a loopback address. */
const nearby = /^[^.]*$|^127\.[\d.]+$|^0\.0\.0\.0$/;

/** The hosts whose words a node's call fetches, as far as its arguments say. @param tool without the node's prefix */
export function fetchedFrom(tool: string, args: unknown): string[] {
  if (localTools.includes(tool)) return [];
  const text = JSON.stringify(args) ?? "";
  const named = [...text.matchAll(address), ...text.matchAll(remote)].map(([, host = ""]) => host);
  const programs = named.length > 0 ? [] : [...text.matchAll(fetchers)].map(([, name = ""]) => name);
  return joinOrigins([...named.filter((host) => !nearby.test(host)), ...programs].map(webOrigin));
}
