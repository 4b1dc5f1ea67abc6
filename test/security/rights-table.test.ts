import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { channel, type Household, logged, openHousehold, ran } from "./household.ts";

/** Tests each cell of the table in docs/security.md, "Who may do what". */

const actors = ["stranger", "guest", "owner", "node", "bridge", "admin"] as const;
type Actor = (typeof actors)[number];
/** Tries a row's action. @returns whether it succeeded */
type Attempt = (who: Actor) => Promise<boolean>;

const secret = "the owner's word of the day";
let house: Household;
beforeAll(async () => {
  house = await openHousehold();
  for (const path of ["MEMORY.md", "USER.md", "HEARTBEAT.md"])
    await house.peers.admin.call("workspace.write", { path, content: secret });
  await house.peers.admin.call("workspace.write", { path: "plan.md", content: "the plan" });
  const known = { path: "shared/plan.md", content: "what everybody may know" };
  await house.peers.admin.call("workspace.write", known);
  await house.ask({ from: "olga", text: secret });
  // Makes the groups' conversations known as the channel's.
  for (const room of ["garden", "workshop", "kitchen"])
    await house.ask({ from: "olga", text: "hello", room });
});
afterAll(() => house.close());

const senders: Partial<Record<Actor, string>> = { stranger: "mallory", guest: "gus", owner: "olga" };
const groupKey = (room: string) => `agent:main:${channel}:group:${room}`;

/** The agent's answer; "" for a sender without an answer and a peer that may not ask. */
async function answer(who: Actor, text: string, room?: string): Promise<string> {
  const from = senders[who];
  if (from !== undefined) return (await house.ask({ from, text, room })) ?? "";
  const key = room === undefined ? "agent:main:main" : groupKey(room);
  return (await house.say(await peerOf(who), key, text)) ?? "";
}

/** The socket of an actor. An owner's has a client token; guests and strangers have none. */
async function peerOf(who: Actor) {
  const { client, node, bridge, admin } = house.peers;
  if (who === "stranger" || who === "guest") return house.stranger();
  return { owner: client, node, bridge, admin }[who];
}

const agentSays =
  (text: string, expected: string | RegExp, room?: string): Attempt =>
  async (who) =>
    new RegExp(expected).test(await answer(who, text, room));
const method =
  (name: string, params: object): Attempt =>
  async (who) => {
    const { ok, error } = await (await peerOf(who)).request(name, params);
    if (ok) return true;
    // A peer that may call the method learns that there is no such call.
    expect([101, 401, 403, 404], `${name}: ${error.message}`).toContain(error.code);
    return error.code === 404;
  };

/** Of methods that need the scope `approve`, which a client's token alone does not have. */
const approving =
  (name: string, params: object): Attempt =>
  async (who) => {
    const may = await method(name, params)(who);
    if (who !== "owner") return may;
    expect(may, "without the scope").toBe(false);
    const { ok, error } = await house.peers.approver.request(name, params);
    return ok || error.code === 404;
  };

/** Of methods of an administrator that a device with the scope `approve` may call, too. */
const byDevice =
  (name: string, params: object): Attempt =>
  async (who) => {
    const may = await method(name, params)(who);
    if (who !== "owner") return may;
    expect(may, "without a device").toBe(false);
    const { client, approver, device } = house.peers;
    for (const peer of [client, approver])
      expect((await peer.request(name, params)).error, "without a device").toMatchObject({ code: 403 });
    const { ok, error } = await device.request(name, params);
    return ok || error.code === 404;
  };

let made = 0;
const attempts: Record<string, Attempt> = {
  "be answered by the agent": agentSays("hello", "heard: hello"),
  "see what the owner said in the main conversation": async (who) => {
    if ((await answer(who, "what was the word?")) === "") return false;
    return JSON.stringify(house.lastRequest().turns).includes(secret);
  },
  "have the agent read `MEMORY.md`, `USER.md` or `HEARTBEAT.md`": async (who) => {
    const read = async (path: string) =>
      (await answer(who, `call gsv__ReadFile {"path":"${path}"}`)).includes(secret);
    const memory = await read("MEMORY.md");
    for (const path of ["USER.md", "HEARTBEAT.md"]) expect(await read(path), path).toBe(memory);
    return memory;
  },
  "have the agent read other files of its workspace": agentSays(
    'call gsv__ReadFile {"path":"plan.md"}',
    "the plan",
  ),
  "have the agent read `SOUL.md`, `IDENTITY.md`, `AGENTS.md`, skills and files under `shared/`": agentSays(
    'call gsv__ReadFile {"path":"shared/plan.md"}',
    "what everybody may know",
  ),
  "have the agent write a file of its workspace": async (who) => {
    const path = `written-${++made}.md`;
    await answer(who, `call gsv__WriteFile {"path":"${path}","content":"x"}`);
    return (await house.peers.admin.request("workspace.read", { path })).ok;
  },
  "use the machines": agentSays("call laptop__Bash", ran),
  "use the machines in a group": agentSays("call laptop__Bash", ran, "garden"),
  'use the machines in a group with `tools: "owner"`': agentSays("call laptop__Bash", ran, "workshop"),
  'use the machines in a group with `tools: "all"`': agentSays("call laptop__Bash", ran, "kitchen"),
  "have the agent read the logs of the machines": agentSays("call gsv__LogsGet", logged),
  "have the agent read the configuration": agentSays('call gsv__ConfigGet {"path":"userTimezone"}', "UTC"),
  "have the agent read other conversations (`gsv__SessionsList`)": agentSays(
    "call gsv__SessionsList {}",
    "agent:main:",
  ),
  "have the agent search what was said in other conversations (`gsv__session_logs`)": agentSays(
    'call gsv__session_logs {"action":"list_sessions"}',
    "agent:main:main",
  ),
  "have the agent search memories and conversations (`gsv__recall`)": agentSays(
    'call gsv__recall {"queries":["zebra"]}',
    "count.*hits",
  ),
  "have the agent change and forget its memories (`gsv__memory`)": agentSays(
    'call gsv__memory {"action":"recall","query":"zebra"}',
    "memories.*count",
  ),
  "have the agent search what was said in other conversations, from a group": agentSays(
    'call gsv__session_logs {"action":"list_sessions"}',
    "agent:main:main",
    "workshop",
  ),
  "have the agent write in other conversations (`gsv__SessionSend`)": agentSays(
    'call gsv__SessionSend {"sessionKey":"notes","message":"well?"}',
    "heard: well\\?",
  ),
  "have the agent read or write in other conversations, from a group": async (who) => {
    const list = await answer(who, "call gsv__SessionsList {}", "workshop");
    const call = 'call gsv__SessionSend {"sessionKey":"notes","message":"well?"}';
    return /agent:main:/.test(list) || /heard: well/.test(await answer(who, call, "workshop"));
  },
  "have the agent write to others (`gsv__Message`)": agentSays(
    `call gsv__Message {"channel":"${channel}","to":"gail","text":"psst"}`,
    /status\W+sent/,
  ),
  "have the agent write to others, from a group": agentSays(
    `call gsv__Message {"channel":"${channel}","to":"gail","text":"psst"}`,
    /status\W+sent/,
    "workshop",
  ),
  "have the agent write to a group, from that group": async (who) => {
    const call = (to: object) => `call gsv__Message ${JSON.stringify({ text: "psst", ...to })}`;
    const sent = (to: object) => agentSays(call(to), /status\W+sent/, "workshop")(who);
    expect(await sent({ to: "garden", peerKind: "group" })).toBe(false);
    const here = await sent({});
    expect(await sent({ channel, to: "workshop", peerKind: "group" })).toBe(here);
    return here;
  },
  "have the agent schedule jobs (`gsv__Cron`)": agentSays('call gsv__Cron {"action":"status"}', /maxJobs/),
  "choose the model (`/model`)": agentSays("/model", /^Model: /),
  "reset their own direct messages (`/reset`)": async (who) => {
    // An owner's own conversation is the main one, which other rows need.
    if (who === "owner") return isReset(await house.ask({ from: "olga", text: "/reset" }));
    if (who === "admin") return (await house.peers.admin.request("session.reset", { sessionKey: "own" })).ok;
    return isReset(await answer(who, "/reset"));
  },
  "reset a group's conversation": async (who) => {
    if (who === "admin")
      return (await house.peers.admin.request("session.reset", { sessionKey: groupKey("garden") })).ok;
    return isReset(await answer(who, "/reset", "garden"));
  },
  "stop the answer to somebody else's message": async (who) => {
    const before = house.lastRequest();
    const { id } = await house.bring({ from: "gail", text: "wait", room: "garden" });
    const isAsked = () =>
      house.lastRequest() !== before && house.lastRequest().turns.at(-1)?.text.endsWith("\nwait");
    await expect.poll(isAsked, { timeout: 20_000 }).toBe(true);
    const stopped = (await answer(who, "/stop", "garden")).startsWith("Stopped run");
    house.release();
    if (!stopped) await house.told(id);
    return stopped;
  },
  "call a machine's tool themselves (`tool.invoke`)": method("tool.invoke", { tool: "laptop__Bash" }),
  "copy files between machines (`transfer.open`)": method("transfer.open", {
    source: "gsv:SOUL.md",
    destination: "gsv:copies/SOUL.md",
  }),
  "see the skills, and have the machines asked for programs (`skills.update`)": method("skills.update", {}),
  "search all conversations (`session.search`)": method("session.search", { query: "word" }),
  "list all conversations (`sessions.list`)": method("sessions.list", {}),
  "schedule jobs themselves (`cron.add`)": method("cron.add", {
    name: "never",
    enabled: false,
    schedule: { kind: "every", everyMs: 3_600_000 },
    spec: { mode: "task", message: "x" },
  }),
  "answer the agent's requests (`approval.answer`)": approving("approval.answer", {
    id: "a".repeat(16),
    hash: "0".repeat(64),
    decision: "allow",
  }),
  "revoke what was allowed (`grant.revoke`)": approving("grant.revoke", { id: "none" }),
  "raise a budget (`budget.raise`)": approving("budget.raise", { id: "none", usd: 1, raiseId: "once" }),
  "change the configuration (`config.set`)": method("config.set", { path: "userTimezone", value: "UTC" }),
  "let senders in as guests (`pair.approve`)": byDevice("pair.approve", { channel, senderId: "gail" }),
  "let senders in as owners (`pair.approve`)": method("pair.approve", {
    ...{ channel, senderId: "nobody", owner: true },
  }),
  "let a program in (`program.approve`)": byDevice("program.approve", { code: "aaaa-bbbb" }),
  "refuse a program (`program.deny`)": byDevice("program.deny", { code: "aaaa-bbbb" }),
  "log in at a server of tools (`mcp.login`)": byDevice("mcp.login", { name: "none" }),
  "make a token (`token.create`)": async (who) => method("token.create", { name: `made by ${who}` })(who),
  "copy a conversation (`session.fork`)": method("session.fork", {
    ...{ sessionKey: "none", forkId: "7d1c2a3e-1b7d-4c8e-9a6f-0d1e2f3a4b5c" },
  }),
  "read a conversation's files (`media.url`)": method("media.url", {
    ...{ sessionKey: "main", r2Key: "media/agent:main:main/none.png" },
  }),
  "let in a device (`code.create`)": method("code.create", {}),
  "revoke a device (`device.revoke`)": method("device.revoke", { id: "none" }),
  "answer a tool call (`tool.result`)": method("tool.result", { callId: "none", result: "x" }),
  "tell which programs a machine has (`node.probe.result`)": method("node.probe.result", {
    probeId: "none",
    ok: true,
  }),
  "bring in messages of a channel (`channel.inbound`)": async (who) =>
    method("channel.inbound", {
      channel,
      peer: { kind: "dm", id: "gus" },
      message: { id: `by ${who}`, text: "/help" },
    })(who),
};

const isReset = (text: string | undefined) => text?.startsWith("Session reset") ?? false;

/** The actions of the table, each with a cell for each actor. A row may have several actions, one a line. */
function readTable(): { action: string; cells: string[] }[] {
  const lines = readFileSync("docs/security.md", "utf8").split("\n");
  const start = lines.indexOf(`| may | ${actors.join(" | ")} |`);
  expect(start, "docs/security.md has the table").toBeGreaterThan(0);
  const rows = lines.slice(start + 2, lines.indexOf("", start));
  return rows.flatMap((line) => {
    const [, actions = "", ...cells] = line.split("|").map((cell) => cell.trim());
    return actions.split("<br>").map((action) => ({ action, cells: cells.slice(0, actors.length) }));
  });
}

/** `token`: owners who have a client token, as opposed to those on a channel; `approve`: with that scope; `device`: of a device that has it. */
const isYes = (cell: string) => ({ yes: true, no: false, token: true, approve: true, device: true })[cell];

describe("the table of rights", () => {
  // In the order of the attempts: some reset what others look at.
  const order = Object.keys(attempts);
  const table = readTable().sort((one, other) => order.indexOf(one.action) - order.indexOf(other.action));

  it("contains exactly the actions that are tested", () => {
    expect(table.map(({ action }) => action).sort()).toEqual(Object.keys(attempts).sort());
  });

  it.each(
    table.flatMap(({ action, cells }) => cells.map((cell, index) => ({ action, cell, who: actors[index]! }))),
  )("$who: may $action? $cell", async ({ action, cell, who }) => {
    expect(await attempts[action]?.(who)).toBe(isYes(cell));
  });
});
