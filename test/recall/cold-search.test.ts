import type { Context } from "aws-lambda";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createAgentHandler } from "../../functions/agent/agent-handler.ts";
import { openMemories } from "../../shared/memory/memories.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { addArchives } from "../../shared/recall/archived-turns.ts";
import { createSegments } from "../../shared/recall/segments.ts";
import { addDays } from "../../shared/runtime/zoned-time.ts";
import { archivePart } from "../../shared/session/archive.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import type { Bucket } from "../../shared/world/world.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { clientParams } from "../support/peer.ts";
import { openSocketWorld, type SocketWorld } from "../support/socket-function.ts";
import { type MemoryState, startState } from "../support/state.ts";

/** Three years of one conversation a day, which ends with a reset, and of daily notes. */
const days = 3 * 365;
const messagesOfDay = 10;
const agentId = "main";
const sessionKey = "agent:main:main";

let state: MemoryState;
let world: SocketWorld;
let model: ModelServer;
let reads: string[];

beforeAll(async () => {
  state = await startState();
  const { bucket } = state;
  const archives: string[] = [];
  for (let day = 0; day < days; day++) {
    const date = addDays("2023-11-01", day);
    const at = Date.parse(`${date}T08:00:00Z`);
    const said = Array.from({ length: messagesOfDay }, (_, i): Message => {
      const content = `On day ${day} I ask ${i} times about the boiler${day === 20 ? " called Rumpelstiltskin" : ""}`;
      return { role: "user", content, timestamp: at + i };
    });
    const conversation = { sessionKey, sessionId: `s${day}` };
    archives.push(await archivePart(bucket, conversation, at, { count: said.length, stream: said }));
    const note = `- On day ${day} the garden was ${day === 30 ? "full of Zwetschgen" : "green"}\n`;
    await bucket.put(`agents/${agentId}/memory/${date}.md`, note);
  }
  await addArchives(bucket, createSegments(bucket), agentId, archives);
  for (const path of ["MEMORY.md", "USER.md"])
    await bucket.put(`agents/${agentId}/${path}`, "- Ada drinks tea\n");
  // Each day's first recall stores the notes of the days before.
  await openMemories({ ...state, workspace: openWorkspace(bucket) }).recall(
    { agentId, audience: "main", now: 0, timezone: "UTC" },
    "garden",
    1,
  );
  world = openSocketWorld({ ...state, bucket: counting(bucket) });
  model = await startOpenAiServer(({ turns }) =>
    turns.at(-1)?.role === "tool"
      ? { text: "done" }
      : {
          toolCalls: [
            { name: "gsv__recall", arguments: { queries: ["Rumpelstiltskin", "Zwetschgen garden"] } },
          ],
        },
  );
}, 120_000);
afterAll(() => model?.close());

/** Records the reads of what memories and conversations are found in. A listing is a read for each thousand objects. */
function counting(bucket: Bucket): Bucket {
  const note = (key: string, count = 1) => {
    if (/^agents\/main\/(?:recall|sessions|memory|MEMORY|USER)/.test(key))
      reads.push(...Array<string>(count).fill(key));
  };
  const noted =
    <R extends unknown[], T>(read: (key: string, ...rest: R) => T) =>
    (key: string, ...rest: R): T => {
      note(key);
      return read(key, ...rest);
    };
  return {
    ...bucket,
    get: noted(bucket.get),
    getIfChanged: noted(bucket.getIfChanged),
    head: noted(bucket.head),
    getStream: noted(bucket.getStream),
    async list(prefix, delimiter) {
      const listed = await bucket.list(prefix, delimiter);
      note(prefix, Math.max(1, Math.ceil(listed.objects.length / 1000)));
      return listed;
    },
  };
}

/** The functions of a gateway that start cold. */
async function connect(client: string) {
  reads = [];
  const socket = world.start();
  await socket.open(client, (await world.token(["client", "admin"])).token);
  await socket.request(client, "connect", clientParams(client));
  return socket;
}

it("a cold agent recalls from three years of conversations and notes with at most 40 reads, listings included", async () => {
  const socket = await connect("one");
  const provider = { provider: "openai-compatible", id: "m", baseUrl: model.url };
  await socket.request("one", "config.set", { path: "model", value: provider });
  await socket.request("one", "chat.send", { sessionKey: "main", message: "hello" });
  reads = [];
  const context = { getRemainingTimeInMillis: () => 900_000 } as Context;
  await createAgentHandler(world.outside)({ sessionKey }, context);
  const answer = model.requests.at(-1)?.turns.at(-1)?.text;
  expect(answer).toContain("the boiler called Rumpelstiltskin");
  expect(answer).toContain("On day 30 the garden was full of Zwetschgen");
  expect(reads.length).toBeLessThanOrEqual(40);
});

it("a cold search of a client makes at most 40 reads", async () => {
  const socket = await connect("two");
  reads = [];
  const answer = await socket.request("two", "session.search", { query: "Rumpelstiltskin" });
  expect(JSON.stringify(answer)).toContain("the boiler called Rumpelstiltskin");
  expect(reads.length).toBeLessThanOrEqual(40);
});
