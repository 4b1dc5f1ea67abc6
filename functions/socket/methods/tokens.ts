import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { createToken, listTokens, revokeToken } from "../../../shared/tokens.ts";
import type { MethodTable } from "../gateway.ts";

export const tokenMethods: Pick<MethodTable, "token.create" | "token.list" | "token.revoke"> = {
  "token.create": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ table, now }, { name, scopes }) => createToken(table, { name, scopes }, now()),
  },
  "token.list": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ table }) => ({ tokens: await listTokens(table) }),
  },
  "token.revoke": {
    modes: ["client"],
    scope: "admin",
    async handle({ table }, { id }) {
      if (!(await revokeToken(table, id))) throw new PeerError(code.notFound, `token not found: ${id}`);
      return { revoked: true, id };
    },
  },
};
