import { createHash } from "node:crypto";
import { above, absent, all, exists, set } from "../world/expression.ts";
import { type Key, succeeds, type Table } from "../world/world.ts";

/** Paths below the webhook's URL. */
export const callbackPath = "mcp/callback";
export const documentPath = "mcp/client.json";

/** Where the browser's return is recorded, by the hash of its state: the webhook can write nothing else of a login. */
export const returnPartition = "MCPLOGIN";

export const returnKey = (state: string): Key => ({
  pk: returnPartition,
  sk: createHash("sha256").update(state).digest("hex"),
});
/** How the gateway describes itself to authorization servers. @param callback where the browser returns */
export function clientMetadata(callback: string) {
  return {
    client_name: "gsv",
    redirect_uris: [callback],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

/** Records what the browser brought. @returns false when no login waits for it, or it was brought before */
export async function acceptReturn(
  { table, now }: { table: Pick<Table, "update">; now: () => number },
  { state, code, issuer, error }: { state: string; code?: string; issuer?: string; error?: string },
): Promise<boolean> {
  if (code === undefined && error === undefined) return false;
  const brought = Object.entries({ code, issuer, error }).flatMap(([name, value]) =>
    value === undefined ? [] : [set(name, value.slice(0, 4096))],
  );
  const waits = all(exists("until"), above("until", now()), absent("code"), absent("error"));
  return succeeds(table.update(returnKey(state), brought, waits));
}
