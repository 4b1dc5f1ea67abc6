import { createToken } from "../../shared/peers/tokens.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import { remove } from "../../shared/world/expression.ts";
import type { Table } from "../../shared/world/world.ts";

/** A token as earlier versions stored it for the owner: with the scope admin, and without an end. */
export async function standingAdmin(
  table: Table,
  scopes: readonly Scope[] = ["client", "node", "admin"],
  createdAt = Date.now(),
): Promise<{ id: string; token: string }> {
  const { id, token } = await createToken(table, { name: `owner ${createdAt}`, scopes }, createdAt);
  await table.update({ pk: "TOKEN", sk: id }, [remove("until"), remove("expiresAt")]);
  return { id, token };
}
