import type { MethodTable } from "../gateway.ts";

export const configMethods: Pick<MethodTable, "config.get" | "config.set"> = {
  "config.get": {
    modes: ["client"],
    handle: async ({ configuration }, { path }) => configuration.get(path),
  },
  "config.set": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ configuration }, { path, value }) => configuration.set(path, value),
  },
};
