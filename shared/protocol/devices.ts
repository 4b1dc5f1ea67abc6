import * as v from "valibot";
import { count, idField } from "./schemas.ts";

/** Scopes that a device can get for a code. */
export const deviceScopes = ["client", "approve"] as const;

const requestCode = v.pipe(v.string(), v.minLength(1), v.maxLength(64));

/** The params of the methods for devices and programs that connect by a code. */
export const deviceParams = {
  "program.get": v.object({ code: requestCode }),
  "program.approve": v.object({
    code: requestCode,
    scopes: v.optional(v.pipe(v.array(v.picklist(["mcp", "mcp:nodes"])), v.minLength(1))),
  }),
  "program.deny": v.object({ code: requestCode }),
  "code.create": v.optional(
    v.object({
      scopes: v.optional(v.pipe(v.array(v.picklist(deviceScopes)), v.minLength(1))),
      name: v.optional(v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64))),
      seconds: v.optional(count(10, 600), 600),
      short: v.optional(v.boolean(), false),
    }),
    { seconds: 600, short: false },
  ),
  "device.list": v.optional(v.object({}), {}),
  "device.revoke": v.object({ id: idField }),
} as const;
