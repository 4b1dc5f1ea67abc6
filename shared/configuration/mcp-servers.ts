import * as v from "valibot";
import { serverClasses, serverName } from "../protocol/mcp.ts";
import { duration, flag, httpUrl, names, text } from "./fields.ts";
import { secret } from "./secret.ts";

const server = v.strictObject({
  url: httpUrl,
  /** False: its tools are not offered. */
  enabled: flag,
  auth: v.optional(
    v.strictObject({
      /** Sent as a bearer token. */
      token: v.optional(secret()),
      /** Of `gsv mcp login`. */
      accessToken: v.optional(secret()),
      refreshToken: v.optional(secret()),
      clientSecret: v.optional(secret()),
    }),
  ),
  tools: v.optional(
    v.strictObject({
      /** Patterns of the server's own names, in which `*` is any text. Absent `allow`: all. `deny` takes precedence. */
      allow: v.optional(names),
      deny: v.optional(names),
      /** By the server's own names; the others have the server's `deadline`. */
      deadlines: v.optional(v.record(text(256), duration)),
    }),
  ),
  /** Default `message`: what it gets, it may pass on. */
  class: v.optional(v.picklist(serverClasses)),
  /** How long a call may take, at most 24 h. Default 24 h for a task, and 5 minutes for any other call. */
  deadline: v.optional(duration),
});

/** The MCP servers whose tools the agent may call. */
export const mcp = v.strictObject({ servers: v.record(serverName, server) });

export type McpServer = v.InferOutput<typeof server>;
