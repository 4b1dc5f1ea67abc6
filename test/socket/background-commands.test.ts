import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLastActive } from "../../shared/channels/last-active.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import type { Origin, SessionTask } from "../../shared/session/inbox-entry.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { CommandBench, said } from "./command-bench.ts";

const commands = new CommandBench();
beforeAll(() => commands.start());
afterAll(() => commands.close());

const accepted = expect.objectContaining({ ok: true, payload: { ok: true } });
const dropped = expect.objectContaining({ ok: true, payload: { ok: true, dropped: true } });
const report = (event: object) => commands.request("node.exec.event", event);
const hour = 3600_000;
const pass = (ms: number) => {
  commands.bench.later += ms;
  commands.world.clock.later = commands.bench.later;
};
const run = async () => (await commands.bench.state(commands.sessionKey)).inbox[0];

describe("the end of a background command", () => {
  it("wakes the idle session with the command's result once, even after a redeployment and a reconnect", async () => {
    const end = await commands.background();
    commands.redeploy();
    await commands.reconnect();
    expect(await report(end)).toEqual(accepted);
    expect(await report(end)).toEqual(dropped);
    expect(await report({ ...end, eventId: "another" })).toEqual(dropped);
    await commands.work();
    expect(await report(end)).toEqual(dropped);
    await commands.work();
    const [message, answer, ...rest] = await commands.told();
    expect([answer, ...rest]).toEqual(["so it ended"]);
    const [title, json = ""] = message!.split("\n");
    expect(title).toBe("System event: async_exec_completion");
    expect(JSON.parse(json)).toEqual({
      ...{ nodeId: "laptop", callId: expect.any(String), sessionId: end.sessionId },
      ...{ event: "finished", exitCode: 0, startedAt: 1, endedAt: 2, outputTail: "built\n" },
    });
  });

  it("waits for the end of a run in progress", async () => {
    const callId = await commands.command();
    expect(await report(commands.endOf(callId))).toEqual(accepted);
    await commands.work();
    expect(await commands.told()).toEqual([]);
    await commands.running(callId);
    await commands.work();
    expect((await commands.told()).at(-1)).toBe("so it ended");
    expect(await report(commands.endOf(callId))).toEqual(dropped);
  });

  it("is dropped if the session was reset", async () => {
    const before = await commands.background();
    const { sessionKey } = commands;
    const reset = {
      id: "r",
      at: commands.world.now(),
      origin: { kind: "client" },
      kind: "reset",
      via: "method",
    };
    await commands.bench.submit(sessionKey, reset as never);
    await commands.work();
    expect(await report(before)).toEqual(dropped);
    const after = await commands.background();
    await commands.bench.submit(commands.sessionKey, { ...reset, id: "r2" } as never);
    expect(await report(after)).toEqual(accepted);
    await commands.work();
    expect(await commands.messages()).toEqual([]);
    expect((await commands.bench.state(commands.sessionKey)).inbox).toEqual([]);
  });

  it("leaves no stop behind if it is stopped before it is dropped", async () => {
    await commands.background();
    const { sessionKey, bench, world } = commands;
    const task = { kind: "exec", nodeId: "laptop", sessionId: "x", conversation: "of another time" } as const;
    const origin = { kind: "client" } as const;
    await bench.submit(sessionKey, { id: "e", at: world.now(), origin, kind: "message", text: "", task });
    expect(await requestStop(commands.state.table, sessionKey, "s", world.now())).toMatchObject({
      runId: "e",
    });
    await commands.work();
    expect(await bench.state(sessionKey)).toMatchObject({ inbox: [] });
    expect(await bench.state(sessionKey)).not.toHaveProperty("stop");
  });

  it("does not wake the session if the model has already read it", async () => {
    const callId = await commands.command();
    await commands.running(callId);
    const sessionId = `command of ${callId}`;
    commands.afterResult = (text) =>
      text.includes("running")
        ? commands.call("Process", { action: "poll", sessionId })
        : said("I saw it end");
    await commands.work();
    const poll = commands.lastCall();
    await report(commands.endOf(callId));
    await commands.request("tool.result", {
      callId: poll,
      result: { sessionId, status: "completed", output: "" },
    });
    await commands.work();
    commands.afterResult = () => said("it runs");
    expect(await commands.told()).toEqual([]);
    expect(textOf((await commands.messages()).at(-1)!)).toBe("I saw it end");
    expect((await commands.bench.state(commands.sessionKey)).inbox).toEqual([]);
  });

  it("is accepted for a day, and for another day after each event `started`", async () => {
    const early = await commands.background();
    const renewed = await commands.background();
    pass(20 * hour);
    expect(await report({ ...renewed, eventId: "s", event: "started" })).toEqual(accepted);
    pass(5 * hour);
    await commands.reconnect();
    expect(await report(early)).toEqual(dropped);
    expect(await report(renewed)).toEqual(accepted);
    expect(await report({ ...renewed, event: "started" })).toEqual(dropped);
  });
});

describe("the commands that a node can report", () => {
  it("are one per call, in its result and in its reports", async () => {
    const callId = await commands.command();
    const end = commands.endOf(callId);
    expect(await report({ ...end, event: "started" })).toEqual(accepted);
    for (const sessionId of ["second", "third"]) {
      expect(await report({ ...end, eventId: sessionId, sessionId })).toEqual(dropped);
      await commands.request("tool.result", { callId, result: { status: "running", sessionId } });
    }
    await commands.work();
    for (const sessionId of ["second", "third"])
      expect(await report({ ...end, eventId: `end of ${sessionId}`, sessionId })).toEqual(dropped);
    expect(await report(end)).toEqual(accepted);
    await commands.work();
    expect(await commands.told()).toHaveLength(2);
  });

  it("are accepted for seven days at most, however often `started` is reported", async () => {
    const end = await commands.background();
    for (let times = 0; times < 8; times++) {
      pass(20 * hour);
      await commands.reconnect();
      expect(await report({ ...end, eventId: `s${times}`, event: "started" })).toEqual(accepted);
    }
    pass(9 * hour);
    await commands.reconnect();
    expect(await report(end)).toEqual(dropped);
  });
});

describe("a useless report is dropped, and never refused", () => {
  it.each([
    ["of a command that nobody knows", { eventId: "e", sessionId: "none", event: "finished" }],
    ["of a call that was never made", { eventId: "e", sessionId: "x", event: "failed", callId: "s.e30" }],
    ["without an eventId", { sessionId: "x", event: "finished" }],
    ["of an unknown kind", { eventId: "e", sessionId: "x", event: "exploded" }],
    ["with a list for an id", { eventId: ["e"], sessionId: "x", event: "finished" }],
    ["nested deep", { eventId: "e", sessionId: "x", event: JSON.parse("[".repeat(999) + "]".repeat(999)) }],
    ["that is empty", {}],
  ])("%s", async (_what, event) => {
    expect(await report(event)).toEqual(dropped);
  });

  it("of another node's command", async () => {
    const end = await commands.background();
    await commands.connect("attic-1", "attic");
    expect(await commands.request("node.exec.event", end, "attic-1")).toEqual(dropped);
    expect(await report(end)).toEqual(accepted);
  });

  it("and a client that sends one is refused with 403", async () => {
    const { token } = await commands.world.token(["client"]);
    const gateway = commands.world.start();
    await gateway.open("c-1", token);
    await gateway.request("c-1", "connect", {
      ...{ minProtocol: 1, client: { id: "c", version: "0", platform: "test", mode: "client" } },
    });
    const answer = await gateway.request("c-1", "node.exec.event", {
      eventId: "e",
      sessionId: "x",
      event: "failed",
    });
    expect(answer).toMatchObject({ ok: false, error: { code: 403 } });
  });
});

describe("the run for the end has the rights and the channel of the run that started the command", () => {
  const from = (id: string, more: object = {}): Origin => ({
    ...{ kind: "channel", channel: "mychat", accountId: "default", peer: { kind: "group", id } },
    ...more,
  });
  const setOwners = (...owners: string[]) =>
    openConfiguration(commands.state.table, commands.world.outside.secrets).set(
      "channels.mychat.owners",
      owners,
    );
  /** Functions and the agent start with these owners. */
  const ownedBy = async (...owners: string[]) => {
    await setOwners(...owners);
    commands.redeploy();
    commands.bench.configuration.channels = { mychat: { owners, groups: { kitchen: { tools: "all" } } } };
  };
  const entry = async (end: object) => {
    await report(end);
    return (await commands.bench.state(commands.sessionKey)).inbox[0];
  };

  it("a guest's command is reported with a guest's rights", async () => {
    commands.bench.configuration.channels = { mychat: { groups: { kitchen: { tools: "all" } } } };
    const end = await commands.background({ origin: from("kitchen"), role: "guest", senderId: "gus" });
    expect(await entry(end)).toMatchObject({ role: "guest", senderId: "gus" });
  });

  it("answers on the session's last channel, or to clients if a client started the command", async () => {
    await ownedBy("olga");
    const end = await commands.background({
      origin: from("kitchen", { replyToId: "1" }),
      role: "owner",
      senderId: "olga",
    });
    await commands.say("System event? no: where are you", { origin: from("garden", { replyToId: "2" }) });
    expect(await entry(end)).toMatchObject({ role: "owner", senderId: "olga", origin: from("garden") });
    expect((await run())?.origin).not.toHaveProperty("replyToId");
    expect((await entry(await commands.background()))?.origin).toEqual({ kind: "client" });
  });

  it("answers the current owner of a main session, not a former owner who wrote there last", async () => {
    await ownedBy("olga", "otto");
    const dm = (id: string) =>
      ({ channel: "mychat", accountId: "default", peer: { kind: "dm", id } }) as const;
    const placed = (id: string) => ({ kind: "channel", ...dm(id) }) as const;
    const note = createLastActive(commands.state.table, () => commands.world.now());
    await note({ agentId: "main", ...dm("o2"), senderId: "otto", role: "owner" });
    const main = "agent:main:main";
    const end = await commands.background({ origin: placed("o2"), role: "owner", senderId: "otto" }, main);
    await commands.say("where are you", { origin: placed("o1"), role: "owner", senderId: "olga" });
    await ownedBy("otto");
    expect((await entry(end))?.origin).toMatchObject(placed("o2"));
    await commands.work();
  });

  it("keeps the sessions that forwarded the message, and its sender", async () => {
    await ownedBy("olga");
    const asked: SessionTask = {
      ...{ kind: "session", sessionKey: "agent:main:asked", runId: "r", queued: false },
      askers: ["agent:main:main"],
      sender: { channel: "mychat", senderId: "olga" },
    };
    const { askers, sender } = asked;
    const end = await commands.background({ task: asked });
    const later = await commands.background({ task: asked });
    await report(later);
    expect(await run()).toMatchObject({ task: { kind: "exec", askers, sender } });
    await ownedBy();
    expect(await report(end)).toEqual(dropped);
  });

  it("does not exist if the sender is no longer an owner, even right after another report", async () => {
    await ownedBy("olga");
    const olgas = { origin: from("kitchen"), role: "owner", senderId: "olga" } as const;
    const [first, second] = [await commands.background(olgas), await commands.background(olgas)];
    expect(await report(first)).toEqual(accepted);
    await setOwners();
    expect(await report(second)).toEqual(dropped);
    expect(await run()).toBeUndefined();
  });
});
