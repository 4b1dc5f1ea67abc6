import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../functions/agent/agent.ts";
import { carryOutCalls, type PlannedCall, pendingCalls } from "../../../functions/agent/tools/tool-calls.ts";
import { handleFrame } from "../../../functions/socket/frame.ts";
import type { Gateway } from "../../../functions/socket/gateway.ts";
import { connectEvent } from "../../../local/websocket/websocket-events.ts";
import type { InboundMessage } from "../../../shared/channels/channel.ts";
import { admit } from "../../../shared/channels/inbound/admission.ts";
import { closeRequest, listRequests, openRequest } from "../../../shared/channels/inbound/pairing.ts";
import { createTelegram } from "../../../shared/channels/telegram/telegram.ts";
import { createWhatsapp } from "../../../shared/channels/whatsapp/whatsapp.ts";
import { mergeConfiguration, openConfiguration } from "../../../shared/configuration/store.ts";
import { openConnection } from "../../../shared/peers/registry.ts";
import { createTokenVerifier } from "../../../shared/peers/tokens.ts";
import type { Frame } from "../../../shared/protocol/frames.ts";
import { readOutcomes, recordResult } from "../../../shared/session/calls.ts";
import { appendEntry, maxInboxBytes, trimAcceptedIds, wasAccepted } from "../../../shared/session/inbox.ts";
import { canonicalizeSessionKey } from "../../../shared/session/key/session-key.ts";
import { newRun, waitingFor } from "../../../shared/session/run.ts";
import { metaKey, newSession, toState } from "../../../shared/session/state.ts";
import { set } from "../../../shared/world/expression.ts";
import type { ItemValue } from "../../../shared/world/world.ts";
import { clientParams, nodeParams } from "../../support/peer.ts";
import { type State, startState } from "../../support/state.ts";

/**
 * Own properties: an outside name must not select a property that every object has, nor change a prototype (CWE-1321,
 * CWE-915).
 */

/** Names that every object has. */
const inherited = ["constructor", "toString", "hasOwnProperty", "valueOf", "__proto__", "__defineGetter__"];

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

let sessionKey: string;
let sessions = 0;
beforeEach(() => {
  sessionKey = `agent:main:own-${++sessions}`;
});

describe.each(inherited)("the name %s", (name) => {
  const message = (id: string) =>
    ({ id, at: 1, origin: { kind: "client" }, kind: "message", text: "hello" }) as const;

  it("of a message is accepted once, by a new session and by an existing one", async () => {
    for (const first of [name, "another"]) {
      const key = `${sessionKey}-${first.replaceAll("_", "-")}`;
      expect((await appendEntry(state.table, key, message(first), 1)).accepted).toBe(true);
      const { accepted } = await appendEntry(state.table, key, message(name), 2);
      expect(accepted).toBe(first !== name);
      const again = await appendEntry(state.table, key, message(name), 3);
      expect(again.accepted).toBe(false);
      expect(again.state.inbox.filter(({ id }) => id === name)).toHaveLength(1);
      const steps = trimAcceptedIds(again.state, name, 3);
      const settled = toState(await state.table.update(metaKey(key), steps));
      expect([Object.hasOwn(settled.recent, name), wasAccepted(settled, name)]).toEqual([false, true]);
    }
  });

  it("of a message does not count as accepted when the inbox is full", async () => {
    const full = { ...newSession(sessionKey, "id", 1), inboxBytes: maxInboxBytes };
    await state.table.put({ ...(full as never as object), ...metaKey(sessionKey) });
    const appended = appendEntry(state.table, sessionKey, message(name), 1);
    await expect(appended).rejects.toMatchObject({ code: 429, retryable: true });
  });

  const run = () => {
    const one = {
      call: { type: "toolCall", id: name, name: "pi__probe", arguments: {} },
      by: "node",
    } as const;
    const address = { sessionKey, runId: "run", step: 0, callId: name };
    const node = { nodeId: "pi", start: async () => undefined };
    const planned: PlannedCall[] = [{ ...one, call: { ...one.call }, address, node }];
    return { address, run: waitingFor(newRun(message("run"), 1, 1), pendingCalls(planned, 1), 1000) };
  };
  const store = async (value: ReturnType<typeof run>["run"]) => {
    await state.table.put({
      ...(newSession(sessionKey, "id", 1) as never as object),
      ...metaKey(sessionKey),
    });
    await state.table.update(metaKey(sessionKey), [set("run", value as unknown as ItemValue)]);
  };

  it.each([
    ["small", "done"],
    ["large", "x".repeat(10_000)],
  ])("of a call waits for its result and accepts it: %s", async (_, result) => {
    const { address, run: waiting } = run();
    expect(waiting.pendingCount).toBe(1);
    await store(waiting);
    const recorded = await recordResult(state, address, "pi", { result }, 1);
    expect(recorded).toMatchObject({ status: "recorded", state: { run: { pendingCount: 0 } } });
    const left = toState((await state.table.get(metaKey(sessionKey))) ?? {}).run;
    const outcomes = await readOutcomes(state, sessionKey, left ?? waiting, [{ id: name }]);
    expect(outcomes.get(name)).toEqual({ result });
  });

  it("of a call that is not awaited is dropped", async () => {
    const { address, run: waiting } = run();
    await store({ ...waiting, pending: { other: { nodeId: "pi", tool: "probe" } } });
    const recorded = await recordResult(state, address, "pi", { result: "x".repeat(10_000) }, 1);
    expect(recorded.status).toBe("dropped");
  });

  it("of a call that cannot be carried out gets its error", async () => {
    const { address, run: waiting } = run();
    const call = { type: "toolCall", id: name, name: "none", arguments: {} } as const;
    const agent = { ...state, now: () => 1 } as unknown as Agent;
    const hold = {
      ...{ interrupted: new AbortController().signal, account: {} as never },
      ...{ state: {} as never, sessionKey, untold: new Set<string>() },
      commit: async () => ({}) as never,
    };
    const nobody = { ...waiting, pending: {}, pendingCount: 0 };
    await carryOutCalls(agent, hold, {} as never, nobody, [
      { call, address, by: "nobody", error: "no such tool" },
    ]);
    const outcomes = await readOutcomes(state, sessionKey, nobody, [{ id: name }]);
    expect(outcomes.get(name)).toEqual({ error: "no such tool", origins: [] });
  });

  const from = (id: string): InboundMessage => ({
    ...{ eventId: `e-${id}`, messageId: "1", text: "hello", timestamp: 1, wasMentioned: true },
    ...{ peer: { kind: "dm", id }, sender: { id } },
  });

  it("of a sender is that of a sender who may ask for access", async () => {
    const address = { channel: "bridged", accountId: `own-${sessions}` };
    const asked = await openRequest(state.table, address, from(name), 1);
    expect(asked.state).toBe("open");
    expect((await openRequest(state.table, address, from(name), 2)).state).toBe("open");
    const listed = await listRequests(state.table, 3, { channel: "bridged", senderId: name });
    const request = listed.find(({ accountId }) => accountId === address.accountId);
    expect(request?.message?.text).toBe("hello");
    expect(request && (await closeRequest(state.table, request, 4))).toBe(true);
  });

  it("of a channel is that of a closed one", async () => {
    const configuration = { load: async () => mergeConfiguration({}) };
    const admission = await admit(
      { table: state.table, configuration, now: () => 1 },
      { channel: name, accountId: name },
      from("1"),
    );
    expect(admission).toEqual({ status: "blocked", reason: "closed" });
  });

  it("of a session makes a separate session", () => {
    const key = canonicalizeSessionKey(name, { mainKey: "main", dmScope: "main" });
    expect(key).toBe(`agent:main:${name.toLowerCase()}`);
  });

  it("of a setting is refused, and changes no object", async () => {
    const configuration = openConfiguration(state.table, state.openSecrets("/own"));
    const names = JSON.parse(`{ ${JSON.stringify(name)}: { "dmPolicy": "open" } }`) as object;
    for (const [path, value] of [
      [name, "x"],
      [`${name}.polluted`, "yes"],
      ["channels", names],
      [`channels.${name}.dmPolicy`, "open"],
      [`apiKeys.${name}`, "k"],
    ] as const)
      await expect(configuration.set(path, value), path).rejects.toMatchObject({ code: 400 });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(({} as Record<string, unknown>).dmPolicy).toBeUndefined();
  });

  it("of a file's type is unknown to a platform", async () => {
    const settings = { apiBaseUrl: "http://127.0.0.1:1", phoneNumberId: "1" };
    const account = { accountId: "default", settings, secrets: { botToken: "t", accessToken: "t" } };
    const file = { filename: "f", mimeType: name, body: new Uint8Array() };
    const outgoing = { peer: { kind: "dm", id: "1" }, file };
    // Nothing listens there: a call can be retried, but WhatsApp is called only for a known type of file.
    expect(await createTelegram().sendFile?.(account, outgoing)).toMatchObject({ status: "retry" });
    const refused = { status: "failed", reason: `WhatsApp accepts no files of the type ${name}` };
    expect(await createWhatsapp().sendFile?.(account, outgoing)).toMatchObject(refused);
  });

  it("of a header and of a query parameter reaches the function in local mode", () => {
    const request = { rawHeaders: [name, "one", name, "two"], url: `/ws?${name}=1&${name}=2` };
    const facts = {
      connectionId: "c",
      connectedAt: 1,
      sourceIp: "127.0.0.1",
      stage: "ws",
      apiId: "local",
      domainName: "x",
    };
    const event = connectEvent(facts as never, request as IncomingMessage);
    expect(Object.entries(event.multiValueHeaders ?? {})).toEqual([[name, ["one", "two"]]]);
    expect(Object.entries(event.queryStringParameters ?? {})).toEqual([[name, "2"]]);
  });
});

describe("a node", () => {
  let posted: Map<string, Frame[]>;
  let gateway: Gateway;
  beforeEach(async () => {
    const fresh = await startState();
    posted = new Map();
    gateway = {
      table: fresh.table,
      sockets: {
        async post(connectionId: string, frame: Frame) {
          posted.set(connectionId, [...(posted.get(connectionId) ?? []), frame]);
          return "sent";
        },
        close: async () => {},
      },
      tokens: createTokenVerifier(fresh.table, Date.now),
      configuration: { load: async () => ({}) },
      pageOrigins: [],
      connected: new Map(),
      now: Date.now,
    } as unknown as Gateway;
    await fresh.close();
  });
  const answer = (connectionId: string, id: string) =>
    (posted.get(connectionId) ?? []).find((frame) => frame.type === "res" && frame.id === id);
  const request = async (connectionId: string, id: string, method: string, params: string | object) => {
    const text = typeof params === "string" ? params : JSON.stringify(params);
    await handleFrame(
      gateway,
      { connectionId, openedAt: Date.now() },
      `{"type":"req","id":"${id}","method":"${method}","params":${text}}`,
    );
    return answer(connectionId, id);
  };
  const connect = async (connectionId: string, params: object) => {
    const record = { connectionId, openedAt: Date.now(), tokenId: connectionId };
    await gateway.table.put({ pk: "TOKEN", sk: connectionId, hash: "00" });
    await openConnection(gateway.table, { ...record, scopes: ["client", "node"] });
    return request(connectionId, "connect", "connect", params);
  };
  const names = inherited.filter((name) => /^[A-Za-z]/.test(name));

  it.each(names)("called %s is known, and its tools with such names can be called", async (id) => {
    expect(await connect("node", nodeParams(id, inherited))).toMatchObject({ ok: true });
    await connect("ann", clientParams("ann"));
    const listed = (await request("ann", "list", "tools.list", {})) as {
      payload?: { tools: { name: string }[] };
    };
    const ofNode = listed.payload?.tools.filter(({ name }) => !name.startsWith("gsv__"));
    expect(ofNode?.map(({ name }) => name)).toEqual(inherited.map((tool) => `${id}__${tool}`));
    for (const tool of inherited) {
      await request("ann", `call-${tool}`, "tool.invoke", { tool: `${id}__${tool}`, args: {} });
      const frame = posted.get("node")?.findLast(({ type }) => type === "evt") as {
        payload?: { callId: string; tool: string };
      };
      expect(frame.payload?.tool).toBe(tool);
      await request("node", `result-${tool}`, "tool.result", { callId: frame.payload?.callId, result: tool });
      expect(answer("ann", `call-${tool}`)).toMatchObject({ ok: true, payload: { result: tool } });
    }
  });

  it("gets arguments with such names unchanged", async () => {
    await connect("node", nodeParams("pi", ["probe"]));
    await connect("ann", clientParams("ann"));
    const args = `{${inherited.map((name, n) => `"${name}":${n}`).join(",")},"prototype":{"__proto__":{"deep":true}}}`;
    await request("ann", "ask", "tool.invoke", `{"tool":"pi__probe","args":${args}}`);
    const frame = posted.get("node")?.findLast(({ type }) => type === "evt");
    expect(JSON.stringify(frame)).toContain(`"args":${args}`);
    expect(({} as Record<string, unknown>).deep).toBeUndefined();
  });
});
