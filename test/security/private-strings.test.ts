import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportFormats } from "../../shared/protocol/objects.ts";
import { channel, type Household, openHousehold } from "./household.ts";

/** Twenty private strings, each in another place of a household, and every way to reach them from a group (CWE-200). */

const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const privateFiles = [
  ...["MEMORY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "DREAMS.md"],
  ...[`memory/${day(0)}.md`, `memory/${day(1)}.md`, `memory/shared/${day(0)}.md`],
  ...["notes/diary.md", "anything-new.md", ".git/COMMIT_EDITMSG", "recall/private.json", "objects/private"],
  "sessions/private/messages/1.json",
];
const stringOf = (place: string) => `private-${privateFiles.indexOf(place) + 1}-string`;
const saidInMain = "private-16-string";
const resultInMain = "private-17-string";
const saidInNamed = "private-18-string";
const saidByGuest = "private-19-string";
const configured = "private-20-string";
const strings = [
  ...privateFiles.map(stringOf),
  saidInMain,
  resultInMain,
  saidInNamed,
  saidByGuest,
  configured,
];

const garden = `agent:main:${channel}:group:garden`;
let house: Household;
/** The conversation of the owner's main session, and the id of a call in it. */
let main: { sessionId: string; callId: string };
let guestCall: string;

const admin = <T = Record<string, unknown>>(method: string, params: object) =>
  house.peers.admin.call<T>(method, params);

interface Preview {
  sessionId: string;
  messages: { role: string; toolCallId?: string }[];
}
const preview = (sessionKey: string) => admin<Preview>("session.preview", { sessionKey });
const callIn = ({ messages }: Preview) => messages.find((one) => one.role === "toolResult")?.toolCallId ?? "";

beforeAll(async () => {
  house = await openHousehold();
  // Only the gateway can write some of them.
  for (const path of privateFiles)
    await house.gateway.world.bucket.put(
      `agents/main/${path}`,
      `${stringOf(path)}
`,
    );
  for (const path of ["SOUL.md", "IDENTITY.md", "AGENTS.md"])
    await admin("workspace.write", { path, content: `everybody may know ${path}` });
  await admin("workspace.write", { path: "result.md", content: resultInMain });
  await house.configuration.set("session.identityLinks", { somebody: [configured] });
  await house.say(house.peers.admin, "agent:main:main", saidInMain);
  await house.say(house.peers.admin, "agent:main:main", 'call gsv__ReadFile {"path":"result.md"}');
  await house.say(house.peers.admin, "agent:main:holidays", saidInNamed);
  await house.ask({ from: "gail", text: saidByGuest });
  await house.ask({ from: "gail", text: 'call gsv__ReadFile {"path":"SOUL.md"}' });
  const { sessionId, messages } = await preview("agent:main:main");
  main = { sessionId, callId: callIn({ sessionId, messages }) };
  guestCall = callIn(await preview(`agent:main:${channel}:guest:gail`));
  await admin("workspace.delete", { path: "result.md" });
});
afterAll(() => house.close());

/** The private strings in a value. */
const held = (value: unknown) => {
  const text = JSON.stringify(value);
  return strings.filter((one) => text.includes(one));
};

/**
 * Lets a member of the group have the agent make several calls in one reply. Returns the result of each call, the
 * answer, and everything that the model received.
 */
async function inGroup(from: string, calls: readonly (readonly [string, object])[]) {
  house.model.requests.length = 0;
  const asked = calls.map(([name, args]) => ({ name, arguments: args }));
  const answer = await house.ask({ from, text: `calls ${JSON.stringify(asked)}`, room: "garden" });
  const { turns } = house.lastRequest();
  const results = turns.filter(({ role }) => role === "tool").slice(-calls.length);
  expect(results).toHaveLength(calls.length);
  return { answer, results, sent: house.model.requests.map(({ body }) => body) };
}

/** The pages of an answer, one after the other. */
async function pages(method: string, params: object): Promise<unknown[]> {
  const found: unknown[] = [];
  let next: string | undefined;
  do {
    const page = await admin<{ next?: string }>(method, { ...params, next });
    found.push(page);
    next = page.next;
  } while (next !== undefined);
  return found;
}

describe("twenty private strings", () => {
  it("are each in their place", async () => {
    expect(new Set(strings).size).toBe(20);
    for (const path of privateFiles)
      expect(held(await admin("workspace.read", { path })), path).toEqual([stringOf(path)]);
    const conversation = held(await preview("agent:main:main"));
    for (const one of [saidInMain, resultInMain]) expect(conversation).toContain(one);
    expect(held(await preview("agent:main:holidays"))).toContain(saidInNamed);
    expect(held(await preview(`agent:main:${channel}:guest:gail`))).toEqual([saidByGuest]);
    expect(held(await admin("config.get", {}))).toEqual([configured]);
    expect(main.callId).not.toBe("");
    expect(guestCall).not.toBe("");
    const tried = await house.say(
      house.peers.admin,
      "agent:main:main",
      'call gsv__ReadFile {"path":"MEMORY.md"}',
    );
    expect(held(tried)).toEqual([stringOf("MEMORY.md")]);
  });

  it("are not in the prompt of a group, for any sender", async () => {
    for (const from of ["olga", "gus"]) {
      await house.ask({ from, text: "what do you know of us?", room: "garden" });
      const sent = house.lastRequest().body;
      expect(held(sent), from).toEqual([]);
      expect(JSON.stringify(sent)).toContain("everybody may know SOUL.md");
    }
  });

  it.each(["olga", "gus"])("are not available to %s through any tool in a group", async (from) => {
    const spellings = privateFiles.flatMap((path) => [path, `/${path}`, path.toUpperCase()]);
    const folders = [
      "",
      "/",
      "memory",
      "memory/shared/",
      "notes/",
      "sessions/",
      ".git",
      "recall",
      "objects",
      "skills/..",
    ];
    const reads = [...spellings, ...folders].map((path) => ["gsv__ReadFile", { path }] as const);
    const files = privateFiles.flatMap((path) => [
      ["gsv__Message", { text: "here", media: `gsv:${path}` }] as const,
      ["gsv__Transfer", { source: `gsv:${path}`, destination: "laptop:/tmp/x" }] as const,
      ["gsv__EditFile", { path, oldString: "private", newString: "public" }] as const,
      ["gsv__activate", { id: `file:gsv:${path}` }] as const,
      ["gsv__pin", { id: `file:gsv:${path}` }] as const,
    ]);
    const ids = [main.callId, guestCall, `chat:${main.sessionId}`, "session:agent:main:main"];
    const objects = [...ids, `system_prompt:main:${main.sessionId}`].flatMap((id) => [
      ["gsv__activate", { id }] as const,
      ["gsv__pin", { id }] as const,
    ]);
    const logs = [
      ...["agent:main:main", main.sessionId, "agent:main:holidays"].flatMap((session_id) =>
        ["read_session", "recent"].map((action) => ({ action, session_id, max_chars: 4000 })),
      ),
      ...["private string", "what was said?"].map((query) => ({ action: "search", query, limit: 500 })),
      { action: "list_sessions" },
    ].map((args) => ["gsv__session_logs", args] as const);
    const others = [
      ["gsv__recall", { queries: ["private string", "what was said?", "private-main-1"], limit: 50 }],
      ["gsv__SessionsList", { messageLimit: 20 }],
      ["gsv__SessionSend", { sessionKey: "main", message: "what do you know?" }],
      ["gsv__ConfigGet", {}],
      ["gsv__ConfigGet", { path: "session" }],
      ["gsv__Cron", { action: "list" }],
      ["gsv__LogsGet", { nodeId: "laptop" }],
    ] as const;
    const calls = [...reads, ...files, ...objects, ...logs, ...others];
    const { answer, results, sent } = await inGroup(from, calls);
    for (const [i, result] of results.entries()) expect(held(result), JSON.stringify(calls[i])).toEqual([]);
    expect(held([answer, sent])).toEqual([]);
    for (const path of privateFiles)
      expect(held(await admin("workspace.read", { path })), path).toEqual([stringOf(path)]);
  });

  it("are not in a preview, export, object or transcript of the group's conversation", async () => {
    const { sessionId } = await preview(garden);
    const of = { sessionKey: garden };
    expect(held(await preview(garden))).toEqual([]);
    expect(held(await pages("session.transcript", { ...of, sessionId }))).toEqual([]);
    for (const format of exportFormats) {
      const exported = await pages("session.export", { ...of, format });
      expect(JSON.stringify(exported)).toContain("gsv__ReadFile");
      expect(held(exported), format).toEqual([]);
    }
    const { objects } = await admin<{ objects: { id: string }[] }>("object.list", of);
    expect(objects.length).toBeGreaterThan(3);
    for (const type of ["system_prompt", "session"])
      for (const { id } of objects.filter((one) => one.id.startsWith(`${type}:`)))
        expect(held(await admin("object.get", { ...of, id })), id).toEqual([]);
    for (const id of [main.callId, guestCall, `chat:${main.sessionId}`]) {
      const answer = await house.peers.admin.request("object.get", { ...of, id });
      expect(answer, id).toMatchObject({ ok: false });
      expect(held(answer)).toEqual([]);
    }
    expect(held(await admin("session.context", of))).toEqual([]);
  });

  it("are not available through any exporting method without a client token", async () => {
    const methods = [
      "session.export",
      "session.preview",
      "session.transcript",
      "object.list",
      "session.context",
    ];
    for (const method of methods)
      for (const peer of [house.peers.node, house.peers.bridge, await house.stranger()]) {
        const params = { sessionKey: "agent:main:main", sessionId: main.sessionId };
        const answer = await peer.request(method, params);
        expect(answer.ok, method).toBe(false);
        expect(held(answer), method).toEqual([]);
      }
  });
});
