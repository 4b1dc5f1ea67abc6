import { type Scope, scopes } from "../../shared/protocol/methods.ts";
import { columns, moment } from "../columns.ts";
import { text } from "../context.ts";
import { usage } from "../failure.ts";
import type { Action } from "../program.ts";

export const createToken: Action = async (context, { args, options }) => {
  const wanted = scopesOf(text(options.scopes));
  const gateway = await context.gateway();
  const created = await gateway.request("token.create", { name: args[0] ?? "", scopes: wanted });
  context.note(`token ${created.id} (${created.name}: ${created.scopes.join(", ")}); it is shown only now`);
  context.print(created, created.token);
};

export const listTokens: Action = async (context) => {
  const gateway = await context.gateway();
  const list = await gateway.request("token.list");
  const rows = list.tokens.map((token) => [
    token.id,
    token.name,
    token.scopes.join(","),
    moment(token.createdAt),
    moment(token.lastUsedAt),
  ]);
  context.print(list, columns(["ID", "NAME", "SCOPES", "CREATED", "LAST USED"], rows));
};

export const revokeToken: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("token.revoke", { id: args[0] ?? "" });
  context.print(result, `token ${result.id} is revoked`);
};

function scopesOf(list: string | undefined): Scope[] {
  const wanted = (list ?? "client").split(",").map((scope) => scope.trim());
  const unknown = wanted.filter((scope) => !scopes.includes(scope as Scope));
  if (unknown.length > 0) throw usage(`no scope ${unknown.join(", ")}; one or more of ${scopes.join(", ")}`);
  return wanted as Scope[];
}
