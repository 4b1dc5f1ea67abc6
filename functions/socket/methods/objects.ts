import type { MethodTable } from "../gateway.ts";

/** Loaded on first use, because most invocations answer other methods. */
const answers = () => import("./object-answers.ts");

export const objectMethods: Pick<
  MethodTable,
  "object.list" | "object.get" | "object.history" | "object.diff" | "session.export" | "session.import"
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
  "session.export": {
    modes: ["client"],
    handle: async (gateway, params) => (await answers()).exportConversation(gateway, params),
  },
  "session.import": {
    modes: ["client"],
    handle: async (gateway, params) => (await answers()).importLines(gateway, params),
  },
};
