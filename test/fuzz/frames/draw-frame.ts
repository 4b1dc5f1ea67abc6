import { isMethod, type Method, methodParams, methods } from "../../../shared/protocol/methods.ts";
import { drawFor } from "../../chaos/draw.ts";
import type { Random } from "../../support/random.ts";
import { changed } from "../draw/change.ts";
import { hostileName, hostileValue, writeJson } from "../draw/hostile.ts";
import { sample, type Words } from "../draw/sample.ts";
import type { Facts } from "../target/settle-in.ts";
import { scratchAgent, victim } from "../target/victim-names.ts";
import { type Mode, mayName, modes } from "./rights.ts";

/**
 * params: a method with changed params. connect: the first frame of a new socket, with changed params. method: an
 * unknown method, or one of another mode. envelope: the frame's own fields. noise: no frame. huge: at the size limits.
 */
export const frameKinds = ["params", "connect", "method", "envelope", "noise", "huge"] as const;
export type FrameKind = (typeof frameKinds)[number];

/** One attack by a frame. */
export interface FrameCase {
  index: number;
  mode: Mode;
  kind: FrameKind;
  /** The method, if any. */
  method: string;
  text: string;
  /** The id that must be answered; undefined for a frame that is not a request with an id. */
  id: string | undefined;
}

/** The frame with this number. The same seed, number and facts give the same frame. */
export function drawFrame(seed: number, index: number, facts: Facts): FrameCase {
  const draw = drawFor(seed, "frame", index);
  const mode = modes[index % modes.length] as Mode;
  const kind = draw.chance(0.5)
    ? "params"
    : draw.pick([
        "connect",
        "method",
        "method",
        "envelope",
        "envelope",
        "envelope",
        "noise",
        "noise",
        "huge",
      ] as const);
  const { method, text } = texts[kind](draw, { mode, facts, id: `f${index}` });
  return { index, mode, kind, method, text, id: answeredId(text) };
}

interface Setting {
  mode: Mode;
  facts: Facts;
  id: string;
}

type Drawn = { method: string; text: string };

const texts: Record<FrameKind, (random: Random, setting: Setting) => Drawn> = {
  params(random, setting) {
    const method = methodFor(setting.mode, random);
    return request(setting.id, method, paramsOf(method, random, setting));
  },
  connect: (random, setting) => request(setting.id, "connect", paramsOf("connect", random, setting)),
  method(random, setting) {
    const method = random.integer(2) === 0 ? random.pick(methods) : hostileName(random);
    const own = isMethod(method) ? paramsOf(method, random, setting) : hostileValue(random, []);
    return request(setting.id, method, own);
  },
  envelope(random, { id, mode }) {
    const method = mode === "client" ? random.pick(["sessions.list", "tools.list"]) : random.pick(methods);
    const frame = changed({ type: "req", id, method, params: {}, paramsRef: undefined }, random, []);
    return { method, text: withOwnId(writeJson(frame), id) };
  },
  noise: (random) => ({ method: "", text: noise(random) }),
  huge(random, { id, mode }) {
    const method = mode === "client" ? "tools.list" : random.pick(methods);
    const bytes = random.pick([32 * 1024, 100_000, 131_000, 131_072, 131_100, 200_000]);
    return request(id, method, { text: random.pick(["x", "é", "\\", "\u0000"]).repeat(bytes / 2) });
  },
};

function request(id: string, method: string, params: unknown): Drawn {
  return { method, text: writeJson({ type: "req", id, method, params }) };
}

/** Expensive methods are drawn less often: each makes the agent work. */
const costly = new Set<string>([
  "chat.send",
  "session.reset",
  "session.compact",
  "session.delete",
  "agent.init",
]);

function methodFor(mode: Mode, random: Random): Method {
  if (mode === "stranger" && random.integer(2) === 0) return "connect";
  const method = random.pick(methods);
  return costly.has(method) && random.integer(3) > 0 ? random.pick(methods) : method;
}

/** Params that usually fit the method's schema, with one to three changes. */
function paramsOf(method: Method, random: Random, { mode, facts }: Setting): unknown {
  const names = mayName(mode, method) ? facts.names : [];
  const params = sample(methodParams[method], random, wordsFor(mode, facts), "params") ?? {};
  const result = changed(params, random, names);
  return names.length === 0 ? withOwnAgent(method, result) : result;
}

/** The default agent belongs to the attackers, so a missing agent id refers to it. */
function withOwnAgent(method: Method, params: unknown): unknown {
  const isObject = typeof params === "object" && params !== null && !Array.isArray(params);
  return isObject && method === "agent.init" ? { ...params, agentId: scratchAgent } : params;
}

const takenIds = [victim.node, victim.client, victim.node.replace("-", "."), victim.client.toUpperCase()];

function wordsFor(mode: Mode, { tool, node, channel, tokens }: Facts): Words {
  const ids = {
    client: "probe-client",
    node: "probe-node",
    bridge: "probe-bridge",
    stranger: "probe-stranger",
  };
  return {
    sessionKey: [
      "scratch-1",
      "scratch-2",
      `agent:${scratchAgent}:three`,
      `agent:${scratchAgent}:telegram:dm:1`,
    ],
    agentId: [scratchAgent],
    message:
      mode === "bridge"
        ? [
            { id: "m-1", text: "hello" },
            { id: "m-2", text: "hi" },
          ]
        : ["hello", "what can you do?"],
    // Includes the victim's node and client ids: an id belongs to the token that used it first.
    id: [`${ids[mode]}-1`, `${ids[mode]}-2`, "passenger", "someone", ...takenIds],
    mode: mode === "bridge" ? ["channel"] : [mode === "node" ? "node" : "client", "admin", "node"],
    minProtocol: [1],
    maxProtocol: [1, 2],
    token: [`${tokens.node.slice(0, -4)}AAAA`, "gsv_aaaaaaaaaa_", "", "Bearer x"],
    channel: [channel, "telegram"],
    accountId: ["default"],
    path: [
      "notes.md",
      "memory/2026-01-01.md",
      "skills/a/SKILL.md",
      "model",
      "channels.telegram",
      "session.dmScope",
    ],
    tool: [tool, "echo", "nobody__echo"],
    nodeId: [node],
    callId: ["call-1", "11111111-2222-4333-8444-555555555555"],
    dataRef: ["11111111-2222-4333-8444-555555555555"],
    data: ["aGVsbG8=", "not base64!"],
    mimeType: ["text/plain", "image/png"],
    scopes: ["admin", "client"],
    sessionId: ["11111111-2222-4333-8444-555555555555"],
    hostRole: ["specialized", "execution"],
    capabilities: ["payload-s3"],
    hostCapabilities: ["filesystem.list", "filesystem.read", "filesystem.write", "shell.exec"],
  };
}

/** Replaces unchanged ids by unique ones, also when they occur twice. */
function withOwnId(text: string, id: string): string {
  return text.includes(`"id":"${id}"`) ? text : text.replace(/"id":"([^"\\]{0,40})"/, `"id":"$1-${id}"`);
}

function noise(random: Random): string {
  const frame = '{"type":"req","id":"n","method":"tools.list"}';
  return random.pick([
    () => "",
    () => "null",
    () => "[]",
    () => '"req"',
    () => frame.slice(0, random.integer(frame.length)),
    () => `${frame}${frame}`,
    () => "[".repeat(50_000),
    () => random.text(["{", "}", "[", "]", '"', ":", ",", "\u0000", "é", "1", "e", "req", "\ud800"], 200),
    () =>
      writeJson({ type: random.pick(["res", "evt", "REQ", "__proto__"]), id: "n", ok: true, event: "chat" }),
    () => writeJson(hostileValue(random, [])),
  ])();
}

/** The id that the protocol promises to answer: a nonempty text in a JSON object of type `req`. */
function answeredId(text: string): string | undefined {
  try {
    // Decode it as it arrives: UTF-8 has no lone surrogates.
    const frame = JSON.parse(Buffer.from(text).toString()) as Record<string, unknown> | null;
    const isRequest = typeof frame === "object" && frame !== null && frame.type === "req";
    return isRequest && typeof frame.id === "string" && frame.id !== "" ? frame.id : undefined;
  } catch {
    return undefined;
  }
}
