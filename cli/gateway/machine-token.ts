import { hostname } from "node:os";
import type { Scope } from "../../shared/protocol/methods.ts";
import type { TokenEntry } from "../../shared/protocol/token-results.ts";
import { machineId } from "./machine-id.ts";

/** The scopes of the token that a person's machine keeps. Administration needs a token of 15 minutes (`gsv admin`). */
const machineScopes: readonly Scope[] = ["client", "approve"];

/** The purpose of a new token for this machine. */
export function machineToken(tokens: readonly TokenEntry[]): { name: string; scopes: Scope[] } {
  return { name: freeName(machineId(hostname()), tokens), scopes: [...machineScopes] };
}

/** The wanted name, with a number appended when another token has it. */
export function freeName(wanted: string, tokens: readonly TokenEntry[]): string {
  const taken = new Set(tokens.map(({ name }) => name.toLowerCase()));
  let name = wanted;
  for (let next = 2; taken.has(name.toLowerCase()); next++) name = `${wanted}-${next}`;
  return name;
}
