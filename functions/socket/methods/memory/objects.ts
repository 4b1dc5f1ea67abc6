import type { MethodTable } from "../../gateway.ts";

/** What makes objects is loaded when somebody asks for them: most invocations do not. */
const answers = () => import("./object-answers.ts");

export const objectMethods: Pick<
  MethodTable,
  "object.list" | "object.get" | "object.history" | "object.diff"
> = {
  "object.list": {
    modes: ["client"],
    handle: async (gateway, params) => (await answers()).listObjects(gateway, params),
  },
  "object.get": {
    modes: ["client"],
    handle: async (gateway, params) => (await answers()).getObject(gateway, params),
  },
  "object.history": {
    modes: ["client"],
    handle: async (gateway, params) => (await answers()).objectHistory(gateway, params),
  },
  "object.diff": {
    modes: ["client"],
    handle: async (gateway, params) => (await answers()).compareObjects(gateway, params),
  },
};
