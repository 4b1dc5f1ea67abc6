import * as v from "valibot";
import { approvalParams } from "./approvals.ts";
import { peerKinds } from "./channel-accounts.ts";
import { contentPart } from "./content-parts.ts";
import { cronJobField, cronPatchField } from "./cron.ts";
import { deviceParams } from "./devices.ts";
import { code, PeerError } from "./errors.ts";
import { mcpParams } from "./mcp.ts";
import { dreamParams, memoryParams } from "./memory-schemas.ts";
import { exportFormats, importFormats, objectTypes } from "./objects.ts";
import {
  clampedCount,
  connectParams,
  count,
  execEvent,
  idField,
  isNestedDeeper,
  jsonObject,
  maxNesting,
  pathField,
  resetPolicyPatch,
  sessionKeyField,
  sessionSettingsField,
  writtenFile,
} from "./schemas.ts";
import { searchParams } from "./search.ts";
import { conversationParams } from "./shown-conversation.ts";
import { skillParams } from "./skill-schemas.ts";
import { usageParams } from "./usage.ts";
import { workspaceHistoryParams } from "./workspace-history-schemas.ts";

/**
 * An attachment as a client sends it: its bytes as base64 in `data`, or a `dataRef` of bytes that it uploaded
 * (`payload.upload` of kind media).
 */
const attachment = v.pipe(
  v.object({
    type: v.picklist(["image", "audio", "video", "document"]),
    mimeType: v.pipe(v.string(), v.maxLength(255)),
    data: v.optional(v.string()),
    dataRef: v.optional(v.pipe(v.string(), v.maxLength(64))),
    filename: v.optional(v.pipe(v.string(), v.maxLength(1024))),
  }),
  v.check(
    ({ data, dataRef }) => (data === undefined) !== (dataRef === undefined),
    "expected either data or dataRef",
  ),
);

const nothing = v.optional(v.object({}), {});
const ofSession = v.object({ sessionKey: sessionKeyField });
const agentId = v.optional(idField);

/** A conversation of a session: the current one, unless `sessionId` names another. */
const ofConversation = v.object({
  sessionKey: sessionKeyField,
  sessionId: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(64))),
});
const objectId = v.pipe(v.string(), v.minLength(1), v.maxLength(2048));
/** A version of an object: the newest one when the last four fields are absent. */
const objectVersion = v.object({
  ...ofConversation.entries,
  id: objectId,
  version: v.optional(count(1, 1_000_000)),
  at: v.optional(count(0, 8.64e15)),
  message: v.optional(count(1, 1_000_000)),
  hash: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hex digits"))),
});
/** The name of a channel or account, as used in the configuration and in webhook URLs. */
const channelName = v.pipe(
  v.string(),
  v.trim(),
  v.toLowerCase(),
  v.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "expected a name of a-z, 0-9, _ and -, at most 64"),
);
const account = v.object({ channel: channelName, accountId: v.optional(channelName, "default") });
const peerKind = v.picklist(peerKinds);
const shownName = v.optional(v.pipe(v.string(), v.maxLength(256)));
const person = v.object({ id: idField, name: shownName, handle: shownName });

/** Media of a bridge's message: its bytes in base64, or a URL. */
const channelMedia = v.pipe(
  v.object({
    type: v.picklist(["image", "audio", "video", "document"]),
    mimeType: v.pipe(v.string(), v.maxLength(255)),
    data: v.optional(v.string()),
    url: v.optional(v.pipe(v.string(), v.maxLength(2048))),
    filename: v.optional(v.pipe(v.string(), v.maxLength(1024))),
    duration: v.optional(v.number()),
    transcription: v.optional(v.pipe(v.string(), v.maxLength(20_000))),
  }),
  v.check(({ data, url }) => data !== undefined || url !== undefined, "expected data or url"),
);
const applicant = v.object({ channel: channelName, senderId: v.pipe(idField, v.trim(), v.minLength(1)) });

const transferEnd = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));
const transferId = count(0, 2 ** 32 - 1);
const ofTransfer = v.object({ transferId });
/** Optional here, because the handler rejects a report without it with GSV's error message. */
const reportedId = v.optional(transferId);
/** A file's media type as its machine reports it. An invalid value is ignored: it would become a header of the stored object. */
const mimeOfFile = v.fallback(
  v.optional(v.pipe(v.string(), v.maxLength(255), v.regex(/^[\w.+-]+\/[\w.+-]+(?:;[ \w.=+-]*)?$/))),
  undefined,
);

/**
 * Scopes a token can carry. `client`, `node`, `channel` and `mcp` allow the mode of that name. `approve` allows to answer requests
 * for approval, and nothing else; `mcp:nodes` lets a program act as the owner. `admin` includes the others.
 */
export const scopes = ["client", "node", "channel", "approve", "admin", "mcp", "mcp:nodes"] as const;
export type Scope = (typeof scopes)[number];

const runIdField = v.pipe(v.string(), v.minLength(1), v.maxLength(128));

/** Maximum nesting of a tool's result, which is stored as text, not as fields of an item. */
const maxResultNesting = 500;

/** The schema of every method's params. */
export const methodParams = {
  connect: connectParams,
  "chat.send": v.object({
    sessionKey: sessionKeyField,
    /** May be empty when there are attachments. */
    message: v.optional(v.string(), ""),
    media: v.optional(v.pipe(v.array(attachment), v.maxLength(10)), []),
    runId: v.optional(runIdField),
    keepAnswer: v.optional(v.boolean(), false),
  }),
  "chat.result": v.object({ sessionKey: sessionKeyField, runId: runIdField }),
  "tools.list": nothing,
  "tool.invoke": v.object({ tool: idField, args: v.optional(jsonObject, {}) }),
  "tool.request": v.object({
    callId: v.pipe(v.string(), v.minLength(1), v.maxLength(512)),
    tool: idField,
    args: v.optional(jsonObject, {}),
    sessionKey: sessionKeyField,
  }),
  "tool.result": v.pipe(
    v.object({
      callId: v.pipe(v.string(), v.minLength(1), v.maxLength(2048)),
      result: v.optional(v.unknown()),
      error: v.optional(v.string()),
    }),
    // Replaced by an error, so that the call ends now: if the result were rejected, the call would wait for its timeout.
    v.transform(({ callId, result, error }) =>
      isNestedDeeper(result, maxResultNesting)
        ? { callId, error: `The result is nested deeper than ${maxResultNesting} levels` }
        : { callId, result, error },
    ),
  ),
  // An invalid report becomes undefined and is dropped: a node would repeat a rejected report.
  "node.exec.event": v.fallback(v.optional(execEvent), undefined),
  "logs.get": v.optional(
    v.object({ nodeId: v.optional(idField), lines: v.optional(clampedCount(1, 5000), 100) }),
    {
      lines: 100,
    },
  ),
  "logs.result": v.object({
    callId: v.pipe(v.string(), v.minLength(1), v.maxLength(2048)),
    lines: v.optional(v.pipe(v.array(v.string()), v.maxLength(5000)), []),
    truncated: v.optional(v.boolean(), false),
    error: v.optional(v.string()),
  }),
  "node.pong": nothing,
  "node.forget": v.object({ nodeId: idField, force: v.optional(v.boolean(), false) }),
  "node.probe.result": v.object({
    probeId: v.pipe(v.string(), v.minLength(1), v.maxLength(512)),
    ok: v.boolean(),
    bins: v.optional(jsonObject),
    error: v.optional(v.string()),
  }),
  ...skillParams,
  "heartbeat.status": nothing,
  "heartbeat.start": v.optional(v.object({ agentId }), {}),
  "heartbeat.stop": v.optional(v.object({ agentId }), {}),
  "heartbeat.trigger": v.optional(v.object({ agentId }), {}),
  "transfer.open": v.object({ source: transferEnd, destination: transferEnd, agentId }),
  "transfer.status": ofTransfer,
  "transfer.cancel": ofTransfer,
  "transfer.part": v.object({ ...ofTransfer.entries, part: count(0, 1_000_000) }),
  "transfer.meta": v.object({
    transferId: reportedId,
    size: v.optional(count(0, Number.MAX_SAFE_INTEGER)),
    mime: mimeOfFile,
    error: v.optional(v.string()),
  }),
  "transfer.accept": v.object({ transferId: reportedId, error: v.optional(v.string()) }),
  "transfer.complete": v.object({
    transferId: reportedId,
    sha256: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "expected 64 hex digits"))),
    error: v.optional(v.string()),
  }),
  "transfer.done": v.object({
    transferId: reportedId,
    bytesWritten: v.optional(count(0, Number.MAX_SAFE_INTEGER)),
    error: v.optional(v.string()),
  }),
  "config.get": v.optional(v.object({ path: v.optional(v.pipe(v.string(), v.maxLength(512))) }), {}),
  "config.set": v.object({ path: v.pipe(v.string(), v.minLength(1), v.maxLength(512)), value: v.unknown() }),
  ...usageParams,
  "sessions.list": v.optional(
    v.object({ offset: v.optional(count(0, 1_000_000), 0), limit: v.optional(count(1, 1000), 100) }),
    { offset: 0, limit: 100 },
  ),
  "session.get": ofSession,
  "session.stats": ofSession,
  "session.cost": ofSession,
  "session.context": ofSession,
  "session.activate": v.object({ sessionKey: sessionKeyField, id: objectId }),
  "session.deactivate": v.object({ sessionKey: sessionKeyField, id: objectId }),
  "session.pin": v.object({
    sessionKey: sessionKeyField,
    id: objectId,
    pinned: v.optional(v.boolean(), true),
  }),
  "session.patch": v.object({
    sessionKey: sessionKeyField,
    settings: v.optional(sessionSettingsField),
    label: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(200)))),
    resetPolicy: v.optional(v.nullable(resetPolicyPatch)),
  }),
  "session.reset": v.object({ ...ofSession.entries, private: v.optional(v.boolean(), false) }),
  "session.compact": v.object({
    sessionKey: sessionKeyField,
    keepMessages: v.optional(count(1, 999_999), 20),
  }),
  ...conversationParams,
  "session.delete": ofConversation,
  "session.history": ofSession,
  "session.export": v.object({
    sessionId: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(64))),
    sessionKey: v.optional(sessionKeyField),
    agentId,
    format: v.optional(v.picklist(exportFormats), "pi"),
    redact: v.optional(v.boolean(), false),
    next: v.optional(v.pipe(v.string(), v.maxLength(64))),
    maxBytes: v.optional(count(10_000, 8_000_000), 96 * 1024),
  }),
  "session.import": v.object({
    sessionKey: sessionKeyField,
    importId: v.pipe(v.string(), v.uuid()),
    format: v.picklist(importFormats),
    lines: v.string(),
  }),
  "object.list": v.object({
    ...ofConversation.entries,
    type: v.optional(v.picklist(objectTypes)),
    offset: v.optional(count(0, 1_000_000), 0),
    limit: v.optional(count(1, 1000), 200),
  }),
  "object.get": objectVersion,
  "object.history": v.object({
    ...ofConversation.entries,
    id: objectId,
    before: v.optional(count(1, 1_000_000)),
    limit: v.optional(count(1, 100), 50),
  }),
  "object.diff": v.object({ from: objectVersion, to: objectVersion }),
  "session.search": searchParams,
  "workspace.list": v.optional(
    v.object({ path: v.optional(v.pipe(v.string(), v.maxLength(1024)), ""), agentId }),
    { path: "" },
  ),
  "workspace.read": v.object({ path: pathField, agentId }),
  "workspace.write": writtenFile,
  "workspace.delete": v.object({ path: pathField, agentId }),
  ...memoryParams,
  ...dreamParams,
  ...workspaceHistoryParams,
  "agent.init": v.optional(v.object({ agentId }), {}),
  "channels.list": nothing,
  "channel.inbound": v.object({
    ...account.entries,
    peer: v.object({ kind: peerKind, ...person.entries }),
    sender: v.optional(person),
    message: v.object({
      id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
      text: v.optional(v.string(), ""),
      timestamp: v.optional(count(0, 8.64e15)),
      replyToId: v.optional(idField),
      replyToText: v.optional(v.string()),
      /** What the message contains besides its text and its media. */
      parts: v.optional(v.pipe(v.array(contentPart), v.maxLength(100))),
      media: v.optional(v.pipe(v.array(channelMedia), v.maxLength(10)), []),
      location: v.optional(
        v.object({
          lat: v.number(),
          lon: v.number(),
          name: v.optional(v.pipe(v.string(), v.maxLength(256))),
        }),
      ),
    }),
    wasMentioned: v.optional(v.boolean(), false),
    mentionedIds: v.optional(v.pipe(v.array(idField), v.maxLength(100))),
  }),
  "channel.delivered": v.object({
    id: v.pipe(v.string(), v.minLength(1), v.maxBytes(1024)),
    error: v.optional(v.pipe(v.string(), v.maxLength(2000))),
    /** The platform's id of the message. */
    messageId: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(200))),
  }),
  "channel.start": v.object({ ...account.entries, config: v.optional(jsonObject) }),
  "channel.stop": account,
  "channel.status": v.object({ channel: channelName, accountId: v.optional(channelName) }),
  "channel.login": v.object({ ...account.entries, force: v.optional(v.boolean()) }),
  "channel.logout": account,
  "channel.remove": account,
  "channel.test": v.object({
    ...account.entries,
    to: idField,
    peerKind: v.optional(peerKind, "dm"),
    text: v.optional(
      v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(4000)),
      "A test message of gsv.",
    ),
  }),
  "pair.list": nothing,
  "pair.approve": v.object({ ...applicant.entries, owner: v.optional(v.boolean()) }),
  "pair.reject": applicant,
  "cron.status": nothing,
  "cron.list": v.optional(
    v.object({
      agentId,
      includeDisabled: v.optional(v.boolean(), true),
      limit: v.optional(clampedCount(1, 500), 200),
      offset: v.optional(count(0, 1_000_000), 0),
    }),
    { includeDisabled: true, limit: 200, offset: 0 },
  ),
  "cron.add": cronJobField,
  "cron.update": v.object({ id: idField, patch: cronPatchField }),
  "cron.remove": v.object({ id: idField }),
  "cron.run": v.optional(
    v.object({ id: v.optional(idField), mode: v.optional(v.picklist(["due", "force"]), "due") }),
    { mode: "due" },
  ),
  "cron.runs": v.optional(
    v.object({
      jobId: v.optional(idField),
      limit: v.optional(clampedCount(1, 2000), 200),
      offset: v.optional(count(0, 1_000_000), 0),
    }),
    { limit: 200, offset: 0 },
  ),
  ...approvalParams,
  ...mcpParams,
  "payload.upload": v.object({
    bytes: count(1, Number.MAX_SAFE_INTEGER),
    kind: v.optional(v.picklist(["params", "media"]), "params"),
  }),
  ...deviceParams,
  "token.create": v.object({
    name: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64)),
    scopes: v.optional(v.pipe(v.array(v.picklist(scopes)), v.minLength(1)), ["client"]),
    channel: v.optional(channelName),
    accountId: v.optional(channelName),
  }),
  "token.list": nothing,
  "token.standing": nothing,
  "token.revoke": v.object({ id: idField }),
} as const;

export type Method = keyof typeof methodParams;
/** The params of a method after validation, with defaults filled in. */
export type Params<M extends Method> = v.InferOutput<(typeof methodParams)[M]>;
/** The params of a method as a peer sends them: fields with a default are optional. */
export type ParamsInput<M extends Method> = v.InferInput<(typeof methodParams)[M]>;

/** Methods that check the depth of their values themselves. */
const ofAnyDepth: readonly Method[] = ["tool.result", "node.exec.event"];

/** Every method, in the order in which `hello-ok` lists them. */
export const methods = Object.keys(methodParams) as Method[];

export function isMethod(name: string): name is Method {
  return Object.hasOwn(methodParams, name);
}

/**
 * Checks a method's params against its schema and fills in defaults.
 * @throws PeerError 400 for params that are nested too deep, and for invalid ones: the message names the first invalid
 * field, such as `sessionKey: Invalid type: …`
 */
export function parseParams<M extends Method>(method: M, params: unknown): Params<M> {
  if (!ofAnyDepth.includes(method) && isNestedDeeper(params, maxNesting)) {
    throw new PeerError(code.badRequest, `params: nested deeper than ${maxNesting} levels`);
  }
  const result = v.safeParse(methodParams[method], params ?? undefined, { abortEarly: true });
  if (result.success) return result.output as Params<M>;
  const issue = result.issues[0];
  const field = v.getDotPath(issue) ?? "params";
  throw new PeerError(code.badRequest, `${field}: ${issue.message}`);
}
