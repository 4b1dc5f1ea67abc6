import { type Scope, scopes } from "../../../shared/protocol/methods.ts";
import type { ListedToken, TokenEntry } from "../../../shared/protocol/token-results.ts";
import { columns, moment } from "../../app/columns.ts";
import { usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";

export const createToken: Action = async (context, { args, options }) => {
  const wanted = scopesOf(text(options.scopes));
  const gateway = await context.gateway();
  const bound = { channel: text(options.channel), accountId: text(options.account) };
  const created = await gateway.request("token.create", { name: args[0] ?? "", scopes: wanted, ...bound });
  context.note(
    `token ${created.id} (${created.name}: ${scopesText(created)}); copy it, it is shown only once`,
  );
  context.print(created, created.token);
};

export const listTokens: Action = async (context) => {
  const gateway = await context.gateway();
  const list = await gateway.request("token.list");
  const rows = list.tokens.map((token) => [
    token.id,
    token.name,
    scopesText(token),
    moment(token.createdAt),
    usedText(token),
  ]);
  context.print(list, columns(["ID", "NAME", "SCOPES", "CREATED", "LAST USED"], rows));
};

export const revokeToken: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("token.revoke", { id: args[0] ?? "" });
  context.print(result, `revoked token ${result.id}`);
};

/** When a token was last used. An open connection counts as current use, no matter when it was opened. */
function usedText({ connections, lastUsedAt }: ListedToken): string {
  if (!connections) return moment(lastUsedAt);
  return `now (${connections} ${connections === 1 ? "connection" : "connections"})`;
}

function scopesText({ scopes, channel, accountId }: TokenEntry): string {
  return scopes.join(",") + (channel === undefined ? "" : ` (${channel}/${accountId})`);
}

function scopesOf(list: string | undefined): Scope[] {
  const wanted = (list ?? "client").split(",").map((scope) => scope.trim());
  const unknown = wanted.filter((scope) => !scopes.includes(scope as Scope));
  if (unknown.length > 0)
    throw usage(`there is no scope ${unknown.join(", ")}; use one or more of ${scopes.join(", ")}`);
  return wanted as Scope[];
}
