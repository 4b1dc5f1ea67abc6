import { createHash, randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import type { ResetPolicy } from "../../shared/protocol/schemas.ts";
import { nextBoundary } from "../../shared/session/reset-schedule.ts";
import type { Bucket } from "../../shared/world/world.ts";
import { gsv } from "../cli/run-gsv.ts";
import { isReading } from "../support/models/model-window.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { type Peer, type Preview, unnumbered } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

/** Schedules come due this many times faster: a quarter of an hour takes about two seconds. */
const acceleration = 400;
const minute = 60_000;

interface History {
  currentSessionId: string;
  previousSessionIds: string[];
}

let stack: Stack;
let model: ModelServer;
let client: Peer;
let bucket: Bucket;
let key: string;
let sessions = 0;

beforeAll(async () => {
  model = await startOpenAiServer((request) =>
    isReading(request) ? { text: "<memories>- they said hello</memories>" } : { text: "hello to you" },
  );
  stack = await startStack({ acceleration });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    session: { defaultResetPolicy: { mode: "manual" } },
  });
  bucket = openS3Bucket(stack.cloud.bucket);
  client = await stack.client();
});
beforeEach(() => {
  key = `agent:reset${++sessions}:main`;
});
afterAll(async () => {
  await client?.close();
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

async function say(message: string): Promise<void> {
  const { runId } = await client.call("chat.send", { sessionKey: key, message });
  expect(await client.ended(String(runId))).toMatchObject({ state: "final" });
}
const history = () => client.call<History>("session.history", { sessionKey: key });
const setPolicy = (resetPolicy: ResetPolicy) =>
  client.call("session.patch", { sessionKey: key, resetPolicy });

/** Waits until the session was reset, without a request to the gateway. */
async function untilReset(): Promise<History> {
  const isReset = () => stack.logs.some((line) => line.event === "session.reset" && line.sessionKey === key);
  await until(isReset, "the session is reset");
  return history();
}

async function archive(sessionId: string): Promise<Message[]> {
  const object = await bucket.get(`agents/${key.split(":")[1]}/sessions/${sessionId}.jsonl.gz`);
  const lines = gunzipSync(object!.body).toString().trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Message);
}

describe("a session without new messages", () => {
  /** Policies that come due soon, and ones that do not during this test. */
  const policies = {
    daily: (timezone) => ({
      soon: { mode: "daily", atHour: soonHour(timezone) },
      late: { mode: "daily", atHour: (soonHour(timezone) + 12) % 24 },
    }),
    idle: () => ({ soon: { mode: "idle", idleMinutes: 15 }, late: { mode: "idle", idleMinutes: 7200 } }),
  } as Record<string, (timezone: string) => { soon: ResetPolicy; late: ResetPolicy }>;

  it.each(["daily", "idle"])(
    "is reset by the Scheduler (%s), and not again by the next message",
    async (mode) => {
      const userTimezone = soonTimezone();
      await stack.configure({ userTimezone });
      const { soon, late } = policies[mode]!(userTimezone);
      // Functions cache the configuration for up to five seconds; a session's own policy applies at once.
      await new Promise((resolve) => setTimeout(resolve, 5_100));
      await setPolicy(soon);
      await say("hello");
      const { previousSessionIds, currentSessionId } = await untilReset();
      expect(previousSessionIds).toHaveLength(1);
      const [first = ""] = previousSessionIds;
      expect((await archive(first)).map(({ role }) => role)).toEqual(["user", "assistant"]);
      const notes = () => bucket.list(`agents/${key.split(":")[1]}/memory/`);
      await until(async () => (await notes()).objects.length > 0, "the memories are recorded");
      const { objects } = await notes();
      const memories = await Promise.all(objects.map((object) => bucket.get(object.key)));
      expect(memories.map((file) => Buffer.from(file!.body).toString())).toEqual([
        expect.stringMatching(/^### Extracted from context compaction \(\d\d:\d\d\)\n\n- they said hello\n$/),
      ]);

      await setPolicy(late);
      await say("hello again");
      await say("and once more");
      expect(await history()).toMatchObject({ previousSessionIds: [first], currentSessionId });
      const { messageCount } = await client.call("session.get", { sessionKey: key });
      expect(messageCount).toBe(4);
      const outstanding = stack.cloud.schedules.list().filter(({ target }) => target.Input?.includes(key));
      expect(outstanding).toHaveLength(1);
    },
  );
});

/** Boundaries are at full hours in UTC and at half hours in India, so one of them is 15 to 45 minutes away. */
function soonTimezone(): string {
  const untilHour = nextBoundary(Date.now(), (new Date().getUTCHours() + 1) % 24, "UTC") - Date.now();
  return untilHour >= 15 * minute && untilHour <= 45 * minute ? "UTC" : "Asia/Kolkata";
}

function soonHour(timezone: string): number {
  const hours = Array.from({ length: 24 }, (_, hour) => hour);
  const away = (hour: number) => nextBoundary(Date.now(), hour, timezone) - Date.now();
  return hours.reduce((soonest, hour) => (away(hour) < away(soonest) ? hour : soonest));
}

describe("a finished conversation", () => {
  it("can be read with the command line, page by page, whatever its size", async () => {
    const long = "0123456789 ".repeat(2_500);
    await say(`remember this: ${long}`);
    await say(`and this: ${long}`);
    const { currentSessionId } = await history();
    const live = await run("session", "transcript", currentSessionId, "--session", key, "--json");
    const reset = await client.call("session.reset", { sessionKey: key });
    expect(reset).toMatchObject({ oldSessionId: currentSessionId, archivedMessages: 4 });
    const archived = await run("session", "transcript", currentSessionId, "--session", key, "--json");
    expect(archived).toBe(live);
    const messages = archived
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Message);
    expect(messages).toEqual(await archive(currentSessionId));
    const [former, current] = (await run("session", "history", key)).trimEnd().split("\n");
    expect(former).toMatch(new RegExp(`^${currentSessionId} .*\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d`));
    expect(current).toBe(`${reset.newSessionId}  (current)`);

    // A peer with a small frame limit gets a large message in pieces.
    const page = await client.call<{ messages: Message[]; piece?: object; next: string }>(
      "session.transcript",
      {
        sessionId: currentSessionId,
        sessionKey: key,
        maxBytes: 10_000,
      },
    );
    expect([page.messages.length, page.next]).toEqual([0, expect.any(String)]);
    expect(page.piece).toMatchObject({ isLast: false });
  });

  it("M45: can be exported with the command line, and continued in another session", async () => {
    await say("what are you?");
    const { currentSessionId } = await history();
    await client.call("session.reset", { sessionKey: key });
    const lines = await run("session", "export", key, "--id", currentSessionId, "--format", "turns");
    const sessionKey = key.replace(":main", ":copy");
    const importId = randomUUID();
    const imported = await client.call("session.import", { sessionKey, importId, format: "turns", lines });
    expect(imported).toEqual({ ok: true, sessionKey, sessionId: importId, messages: 2 });
    const { messages } = await client.call<Preview>("session.preview", { sessionKey });
    expect(unnumbered(messages)).toEqual(await archive(currentSessionId));
  });

  it("M14: can be inspected object by object with the command line", async () => {
    await say("what are you?");
    const { currentSessionId } = await history();
    await client.call("session.reset", { sessionKey: key });
    const of = ["--session", key, "--conversation", currentSessionId];
    const { objects } = JSON.parse(await run("object", "list", ...of, "--json")) as {
      objects: { id: string }[];
    };
    expect(objects.map(({ id }) => id)).toEqual([
      `session:${key}`,
      expect.stringContaining("system_prompt:"),
      `chat:${currentSessionId}`,
    ]);
    const prompt = objects[1]!.id;
    const { content_hash } = JSON.parse(await run("object", "get", prompt, ...of, "--json"));
    const text = await run("object", "get", prompt, ...of, "--content");
    expect(text).toContain("## Runtime");
    expect(createHash("sha256").update(text).digest("hex")).toBe(content_hash);
    const versions = await run("object", "history", `chat:${currentSessionId}`, "--session", key);
    expect(versions.trimEnd().split("\n")).toHaveLength(3);
    const diff = await run("object", "diff", `chat:${currentSessionId}`, "--session", key);
    expect(diff).toMatch(/^ what are you\?\n\+--- assistant$/m);
  });
});

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await gsv(args, {
    env: { GSV_URL: stack.cloud.ws, GSV_TOKEN: stack.token },
  });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}
