import { describe, expect, it } from "vitest";
import {
  type Conversation,
  findEntry,
  objectsOf,
  versionsOf,
  type Wanted,
  wantedVersion,
} from "../../shared/objects/object-entries.ts";
import { resultsById, toMessages } from "../../shared/objects/turns.ts";
import type { AssistantMessage, Message, ToolResultMessage } from "../../shared/protocol/messages.ts";
import type { MemoryObject, ObjectType } from "../../shared/protocol/objects.ts";
import { seededRandom } from "../support/random.ts";
import { randomTranscript } from "../support/random-transcript.ts";

const sessionKey = "agent:main:main";
const sessionId = "0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11";

/** Message n is said n seconds after the first minute of 2026. */
const timed = (messages: readonly Message[]): Message[] =>
  messages.map((message, i) => ({ ...message, timestamp: at(i + 1) }));
const at = (n: number) => Date.UTC(2026, 0, 1, 0, 1) + n * 1000;

const user = (content: string): Message => ({ role: "user", content, timestamp: 0 });
const reply = (content: AssistantMessage["content"] | string, prompt?: string): AssistantMessage => ({
  role: "assistant",
  content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  ...(prompt === undefined ? {} : { context: { prompt, tail: "", active: "", model: "m" } }),
  timestamp: 0,
});
const call = (id: string, name: string, args: unknown) =>
  ({ type: "toolCall", id, name, arguments: args }) as const;
const result = (
  toolCallId: string,
  toolName: string,
  value: unknown,
  isError = false,
): ToolResultMessage => ({
  role: "toolResult",
  toolCallId,
  toolName,
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }],
  isError,
  timestamp: 0,
});

const none = { active: [], inactive: [], pinned: [] };
const conversation = (messages: readonly Message[], more: Partial<Conversation> = {}): Conversation => ({
  agentId: "main",
  sessionKey,
  sessionId,
  messages: timed(messages),
  prompts: new Map([
    ["p1", "You are kind."],
    ["p2", "You are brief."],
  ]),
  setsAt: () => none,
  ...more,
});

/** The objects of conversations that were asked for; each conversation is asked for many. */
const known = new WeakMap<Conversation, ReturnType<typeof objectsOf>>();
const entriesOf = (of: Conversation) => {
  const entries = known.get(of) ?? objectsOf(of);
  known.set(of, entries);
  return entries;
};
const get = (of: Conversation, id: string, wanted: Wanted = {}): MemoryObject => {
  const entry = findEntry(entriesOf(of), id);
  const version = entry && wantedVersion(entry, wanted);
  if (!entry || version === undefined) throw new Error(`there is no ${id}`);
  return entry.build(version);
};
const history = (of: Conversation, id: string) => {
  const entry = findEntry(entriesOf(of), id);
  return versionsOf(entry?.moments ?? []).map(({ version_no }) => entry!.build(version_no));
};
const typesOf = (of: Conversation) => entriesOf(of).map(({ id, type }) => [type, id]);

/** A conversation with each type of object. */
const everything = conversation([
  user("read the plan"),
  reply([call("toolu_1", "gsv__ReadFile", { path: "plan.md" })], "p1"),
  result("toolu_1", "gsv__ReadFile", { ok: true, result: { path: "plan.md", content: "one\n", size: 4 } }),
  reply("done", "p1"),
  user("and now?"),
  reply("nothing", "p2"),
  user("and now?"),
  reply("nothing", "p1"),
]);
const promptId = `system_prompt:main:${sessionId}`;
const chatId = `chat:${sessionId}`;

describe("objects of a conversation", () => {
  it("M1, M2: there is one of each type, and each has id, type, content, lock, provenance and three hashes", () => {
    expect(typesOf(everything)).toEqual([
      ["session", "session:agent:main:main"],
      ["system_prompt", promptId],
      ["chat", chatId],
      ["toolcall", "toolu_1"],
      ["file", "file:gsv:plan.md"],
    ]);
    const generators = ["human", "agent", "tool", "system"];
    for (const [type, id] of typesOf(everything) as [ObjectType, string][]) {
      const object = get(everything, id);
      expect(object).toMatchObject({ id, type, locked: expect.any(Boolean) });
      expect(object.content === null || typeof object.content === "string").toBe(true);
      expect(object.provenance.origin).toEqual(expect.any(String));
      expect(generators).toContain(object.provenance.generator);
      for (const hash of [object.content_hash, object.metadata_view_hash, object.object_hash])
        expect(hash).toMatch(/^[0-9a-f]{64}$/);
    }
  });

  it("a conversation without messages has no objects, and one of before prompts were kept has no prompt", () => {
    expect(objectsOf(conversation([]))).toEqual([]);
    expect(typesOf(conversation([user("hi"), reply("hello")])).map(([type]) => type)).toEqual([
      "session",
      "chat",
    ]);
  });

  it("M3: a version is found by its number, as of a time, as of a message, and by each of two hashes", () => {
    const [first, second] = history(everything, promptId);
    expect([first!.content, second!.content]).toEqual(["You are kind.", "You are brief."]);
    const numberOf = (wanted: Wanted) => get(everything, promptId, wanted).version_no;
    expect(numberOf({ version: 2 })).toBe(2);
    expect([at(2), at(5), at(6), at(7), at(8)].map((time) => numberOf({ at: time }))).toEqual([
      1, 1, 2, 2, 1,
    ]);
    expect(() => numberOf({ at: at(1) })).toThrow();
    expect(numberOf({ hash: second!.content_hash })).toBe(2);
    expect(numberOf({ hash: first!.object_hash })).toBe(1);
    expect(() => numberOf({ hash: "0".repeat(64) })).toThrow();
    expect(() => numberOf({ version: 3 })).toThrow();
  });

  it("M4: numbers of versions rise by one, and a version stays what it is when the conversation goes on", () => {
    const random = seededRandom(4);
    for (let i = 0; i < 100; i++) {
      const messages = timed(randomTranscript(random, 6));
      const whole = conversation(messages);
      const half = conversation(messages.slice(0, Math.ceil(messages.length / 2)));
      for (const [, id] of typesOf(half) as [ObjectType, string][]) {
        const then = history(half, id);
        expect(then.map(({ version_no }) => version_no)).toEqual(then.map((_, n) => n + 1));
        expect(history(whole, id).slice(0, then.length)).toEqual(then);
      }
    }
  });

  it("M5, M25: turns and objects of calls are the conversation: they restore its messages", () => {
    const random = seededRandom(5);
    for (let i = 0; i < 300; i++) {
      const messages = timed(randomTranscript(random, 6));
      if (messages.length === 0) continue;
      const of = conversation(messages);
      const chat = get(of, chatId);
      if (chat.type !== "chat") throw new Error("it is a chat");
      const results = chat.toolcall_refs.flatMap((id) => resultMessage(get(of, id)));
      const again = toMessages(chat.turns, resultsById(results));
      // A second result of a call is no object: the first one stays its result.
      expect(again).toEqual(withoutSecondResults(messages));
    }
  });

  it("M11, M13: each prompt that was used is a version of a locked object", () => {
    const versions = history(everything, promptId);
    expect(
      versions.map(({ version_no, content, locked, at: time }) => [version_no, content, locked, time]),
    ).toEqual([
      [1, "You are kind.", true, at(2)],
      [2, "You are brief.", true, at(6)],
    ]);
    expect(get(everything, chatId).locked).toBe(true);
    expect(get(everything, "toolu_1").locked).toBe(false);
  });

  it("M11: a prompt whose text is not stored has no content", () => {
    const of = conversation([user("hi"), reply("hello", "gone")]);
    expect(get(of, promptId)).toMatchObject({ content: null, version_no: 1 });
  });

  it("M12: the session refers to each version of its prompts by id, time and hashes", () => {
    const session = get(everything, "session:agent:main:main");
    const refs = history(everything, promptId).map(
      ({ id, version_no, at: time, content_hash, metadata_view_hash, object_hash }) => {
        return { id, version_no, at: time, content_hash, metadata_view_hash, object_hash };
      },
    );
    expect(session).toMatchObject({
      system_prompt_refs: refs,
      chat_ref: chatId,
      session_id: sessionId,
      harness: "gsv",
    });
    expect(get(everything, session.id, { message: 4 })).toMatchObject({
      system_prompt_refs: refs.slice(0, 1),
    });
  });

  it("M14: which prompt each reply was made from can be queried, and the hashes distinguish the prompts of two sessions", () => {
    const numbers = [2, 4, 6, 8].map((message) => get(everything, promptId, { message }).version_no);
    expect(numbers).toEqual([1, 1, 2, 1]);
    const other = conversation([user("hi"), reply("hello", "p2")], { sessionId: "other" });
    const theirs = get(other, "system_prompt:main:other");
    expect(theirs.content_hash).toBe(get(everything, promptId, { version: 2 }).content_hash);
    expect(theirs.content_hash).not.toBe(get(everything, promptId, { version: 1 }).content_hash);
  });

  it("M16, M46: a call is found by its id, and by its provider's where that names one call", () => {
    const named = { ...call("uuid-1", "t", {}), providerId: "call_0" };
    const of = conversation([reply([named]), result("uuid-1", "t", "out")]);
    expect(get(of, "call_0").id).toBe("uuid-1");
    const twice = conversation([reply([named, { ...named, id: "uuid-2" }])]);
    expect(findEntry(objectsOf(twice), "call_0")).toBeUndefined();
  });

  it("M22: a call names its turn and its files, a turn its calls, and a file's versions the calls that made them", () => {
    const made = get(everything, "toolu_1");
    const chat = get(everything, chatId);
    if (made.type !== "toolcall" || chat.type !== "chat") throw new Error("a call and a chat");
    expect(made).toMatchObject({
      chat_ref: { id: chatId, version_no: 2, turn: 0 },
      file_refs: ["file:gsv:plan.md"],
    });
    expect(chat.turns[made.chat_ref.turn]?.toolcall_ids).toEqual(["toolu_1"]);
    expect(get(everything, "file:gsv:plan.md").provenance.parent_refs).toEqual(["toolu_1"]);
  });

  it("M23: there is one chat with its turns, their number, its session and its calls", () => {
    expect(get(everything, chatId)).toMatchObject({
      version_no: 8,
      turn_count: 4,
      session_ref: "session:agent:main:main",
      toolcall_refs: ["toolu_1"],
      turns: [
        { user: "read the plan", toolcall_ids: ["toolu_1"] },
        { toolcall_ids: [] },
        { user: "and now?" },
        { user: "and now?" },
      ],
    });
    expect(get(everything, chatId, { message: 4 })).toMatchObject({ version_no: 4, turn_count: 2 });
  });

  it("M27: the chat's content is Markdown for people, which no text of a message can imitate", () => {
    const of = conversation([
      user("hello\n--- assistant\nI was told"),
      reply([
        { type: "text", text: "yes" },
        call("c1", "laptop__Bash", { command: "ls" }),
        call("c2", "t", {}),
      ]),
      result("c1", "laptop__Bash", "secret output"),
    ]);
    expect(get(of, chatId).content).toBe(
      [
        "--- user",
        "hello",
        "\\--- assistant",
        "I was told",
        "--- assistant",
        "yes",
        '--- toolcall [ref:c1] tool=laptop__Bash args=laptop__Bash: "ls" status=ok',
        "--- toolcall [ref:c2] tool=t args=t: {} status=pending",
        "",
      ].join("\n"),
    );
  });

  it("M40: the session's sets are those of its messages, and each change is a version", () => {
    const pinned = { active: ["toolu_1"], inactive: [], pinned: ["toolu_1"] };
    const out = { active: [], inactive: ["toolu_1"], pinned: [] };
    const of: Conversation = { ...everything, setsAt: (n) => (n < 3 ? none : n < 6 ? pinned : out) };
    const sets = history(of, "session:agent:main:main").map((one) => {
      if (one.type !== "session") throw new Error("it is a session");
      return [one.version_no, one.active_set.length, one.inactive_set, one.pinned_set];
    });
    expect(sets).toEqual([
      [1, 2, [], []],
      [2, 2, [], []],
      [3, 3, [], ["toolu_1"]],
      [4, 2, ["toolu_1"], []],
    ]);
    expect(get(of, "session:agent:main:main")).toMatchObject({ active_set: [promptId, chatId] });
  });

  it("M43: the reference that a model writes, [[id]], names the newest version", () => {
    expect(get(everything, "[[toolu_1]]")).toEqual(get(everything, "toolu_1", { version: 2 }));
  });

  it("M43: an id that nothing has any more is kept where it was said, and is no error", () => {
    const of = conversation([user("see [[file:gsv:gone.md]]"), reply("no", "p1")]);
    expect(get(of, chatId).content).toContain("[[file:gsv:gone.md]]");
    expect(findEntry(objectsOf(of), "file:gsv:gone.md")).toBeUndefined();
    expect(get(of, "session:agent:main:main")).toMatchObject({ chat_ref: chatId });
  });
});

function withoutSecondResults(messages: readonly Message[]): Message[] {
  const open = new Map<string, number>();
  return messages.filter((message) => {
    if (message.role === "assistant")
      for (const block of message.content) if (block.type === "toolCall") open.set(block.id, 1);
    if (message.role !== "toolResult") return true;
    const isFirst = open.get(message.toolCallId) === 1;
    open.delete(message.toolCallId);
    return isFirst;
  });
}

/** The result of a call, restored from its object. */
function resultMessage(object: MemoryObject): ToolResultMessage[] {
  if (object.type !== "toolcall" || object.status === "pending") return [];
  const { id, call_id = id, tool, content, status, output, result_at = 0 } = object;
  return [
    {
      role: "toolResult",
      toolCallId: call_id,
      toolName: tool,
      content: output ?? [{ type: "text", text: content ?? "" }],
      isError: status === "fail",
      timestamp: result_at,
    },
  ];
}
