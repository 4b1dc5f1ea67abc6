import { code, PeerError } from "../protocol/errors.ts";
import { absent, any, below, type Condition, equal, set } from "../world/expression.ts";
import { succeeds, type Table } from "../world/world.ts";
import { nameOfNode } from "./nodes.ts";
import { isGoodToken } from "./tokens.ts";

/** Clients and nodes choose their ids. A bridge's id comes from its token. */
export interface ChosenId {
  mode: "client" | "node";
  id: string;
}

/** TTL of a client's id after it last connected, in seconds. Each command of `gsv` uses its own id. */
const clientIdSeconds = 30 * 86_400;

const partitionOf = (mode: ChosenId["mode"]) => `ID#${mode}`;
const keyOf = ({ mode, id }: ChosenId) => ({ pk: partitionOf(mode), sk: normalId(id) });

/**
 * The form in which ids are compared: that of tool names, in lower case. `my.Laptop` is `my_laptop`.
 */
export function normalId(id: string): string {
  return nameOfNode(id).toLowerCase();
}

/**
 * Binds an id to the first token that uses it. A node's id stays bound until `releaseId`, a client's until its
 * token is revoked, or for 30 days after it last connected.
 * @param now epoch milliseconds
 * @throws PeerError 409 when the id belongs to another token
 */
export async function claimId(table: Table, chosen: ChosenId, tokenId: string, now: number): Promise<void> {
  const { mode, id } = chosen;
  const key = keyOf(chosen);
  const seconds = Math.floor(now / 1000);
  const expiry = mode === "client" ? [set("expiresAt", seconds + clientIdSeconds)] : [];
  const claim = (condition: Condition) =>
    succeeds(table.update(key, [set("id", id), set("tokenId", tokenId), ...expiry], condition));
  if (await claim(any(absent("tokenId"), equal("tokenId", tokenId), below("expiresAt", seconds)))) return;
  const held = await table.get(key);
  if (!held) return claimId(table, chosen, tokenId, now);
  const holder = String(held.tokenId);
  const isFree = mode === "client" && !(await isGoodToken(table, holder, now));
  if (isFree && (await claim(equal("tokenId", holder)))) return;
  const release =
    mode === "node" ? `release it with node.forget (\`gsv node forget ${id}\`)` : "revoke that token";
  const message = `the ${mode} id "${id}" belongs to another token, as "${held.id}": choose another id, or ${release}`;
  throw new PeerError(code.conflict, message);
}

/** Lets any token use the id. @returns false when it was not bound */
export async function releaseId(table: Table, chosen: ChosenId): Promise<boolean> {
  return (await table.delete(keyOf(chosen))) !== undefined;
}

/** Releases the ids of all nodes that are bound to a token. */
export async function releaseNodesOf(table: Table, tokenId: string): Promise<void> {
  const items = await table.query({ pk: partitionOf("node") });
  for (const { pk, sk } of items.filter((item) => item.tokenId === tokenId))
    await table.delete({ pk: String(pk), sk: String(sk) }, equal("tokenId", tokenId));
}
