import { afterAll, beforeAll, expect, it } from "vitest";
import type { Agent } from "../../functions/agent/agent.ts";
import { providerWords } from "../../functions/agent/model/provider-error-text.ts";
import { refuseEntry } from "../../functions/agent/reply/request-reply.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { sourceOf } from "../../shared/channels/channel.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import { bindPeer, openConnection } from "../../shared/peers/registry.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { type State, startState } from "../support/state.ts";
import { type Bench, immortal, Killed, openBench } from "./bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
let failures = 0;
let words = "no";
beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(() =>
    failures-- > 0
      ? { error: { status: 400, message: `${words}: ${"x".repeat(5000)}` } }
      : { text: "the answer" },
  );
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  const record = { connectionId: "c1", openedAt: Date.now() };
  const { id: tokenId } = await createToken(state.table, { name: "client", scopes: ["client"] }, 1);
  const peer = { id: "client", tokenId, mode: "client", version: "0", platform: "test" } as const;
  await openConnection(state.table, record);
  await bindPeer(state.table, record, { ...peer, connectionId: "c1", connectedAt: Date.now() });
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

const channelOrigin = {
  kind: "channel",
  channel: "telegram",
  accountId: "default",
  peer: { kind: "dm", id: "1" },
} as const;

const message = (id: string): InboxEntry => ({
  id,
  at: 1,
  origin: { kind: "client" },
  kind: "message",
  text: "hello",
});

type ChatEvent = { state: string; error?: string };
const chatEvents = () => bench.posted.map(({ frame }) => (frame as { payload: ChatEvent }).payload);

/** Invokes an agent that dies after it has announced the end of a run, before its next call. */
async function invokeUntilTold(sessionKey: string): Promise<void> {
  const life = immortal();
  const agent = bench.agent(life);
  const sockets: Agent["sockets"] = {
    ...agent.sockets,
    async post(...args) {
      const outcome = await agent.sockets.post(...args);
      if (chatEvents().some(isEnd)) life.left = 0;
      return outcome;
    },
  };
  const broadcast = createBroadcast(agent.table, sockets, agent.now);
  await expect(holdSession({ ...agent, sockets, broadcast }, sessionKey, () => 900_000)).rejects.toThrow(
    Killed,
  );
  bench.later += 31_000;
}

const isEnd = ({ state }: ChatEvent) => state === "final" || state === "error";

it("announces the error of a failed turn, and cuts a provider's very long message", async () => {
  failures = 1;
  await bench.submit("agent:main:fails", message("fails"));
  await bench.invoke("agent:main:fails");
  const [end, ...others] = chatEvents().filter(isEnd);
  expect(others).toEqual([]);
  expect(end?.error).toMatch(/^LLM error: /);
  expect(end?.error?.length).toBeLessThanOrEqual(2000);
  expect(await bench.state("agent:main:fails")).not.toHaveProperty("run");
});

it("announces no answer after an error if the agent dies in between", async () => {
  bench.posted.length = 0;
  failures = 1;
  await bench.submit("agent:main:dies", message("dies"));
  await invokeUntilTold("agent:main:dies");
  await bench.invoke("agent:main:dies");
  expect(
    new Set(
      chatEvents()
        .filter(isEnd)
        .map(({ state }) => state),
    ),
  ).toEqual(new Set(["error"]));
  expect((await bench.live("agent:main:dies")).map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(await bench.state("agent:main:dies")).not.toHaveProperty("run");
});

it("shows the model five failed messages as five turns, each with a marker that never changes", async () => {
  const key = "agent:main:five";
  words = "secret-host";
  for (const id of ["1", "2", "3", "4", "5"]) {
    failures = 1;
    await bench.submit(key, { ...message(id), text: `order ${id}` } as InboxEntry);
    await bench.invoke(key);
  }
  for (const id of ["6", "7"]) {
    await bench.submit(key, { ...message(id), text: `order ${id}` } as InboxEntry);
    await bench.invoke(key);
  }
  const [sixth, seventh] = model.requests.slice(-2).map(({ turns }) => turns.map(({ text }) => text));
  const marker = "[no answer: the model's provider failed (400); the owner's client shows the reason]";
  expect(sixth).toEqual([...["1", "2", "3", "4", "5"].flatMap((id) => [`order ${id}`, marker]), "order 6"]);
  expect(seventh).toEqual([...(sixth ?? []), "the answer", "order 7"]);
  words = "no";
});

it("hides a provider's message from the users of a channel, and names the run instead", async () => {
  const told: string[] = [];
  const arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/x";
  const failingWith = async (key: string, entry: InboxEntry, error: string) => {
    failures = Number.POSITIVE_INFINITY;
    words = error;
    await bench.submit(key, { ...entry, origin: channelOrigin });
    const agent = bench.agent();
    const channels: Agent["channels"] = {
      ...agent.channels,
      deliver: async (_origin, _id, text) => ({ ok: told.push(sourceOf(text)) > 0 }) as { ok: true },
    };
    await holdSession({ ...agent, channels }, key, () => 900_000);
    failures = 0;
  };
  bench.posted.length = 0;
  await failingWith("agent:main:quotes", message("quotes"), `no access to ${arn}`);
  expect(told).toEqual([
    expect.stringMatching(/^Sorry, that failed: .*provider failed \(400\).* \(quotes\)$/),
  ]);
  expect(chatEvents().at(-1)?.error).toContain(arn);
  bench.configuration.model = { provider: "anthropic", id: "claude-opus-4-8" };
  await failingWith("agent:main:keyless", message("keyless"), "");
  expect(told.at(-1)).toBe(
    "Sorry, that failed: no key for anthropic: gsv config set apiKeys.anthropic - (keyless)",
  );
});

it("hides it in the answer to a command too", async () => {
  const told: string[] = [];
  const channels = {
    ...bench.agent().channels,
    deliver: async (_origin: object, _id: string, text: string) =>
      ({ ok: told.push(sourceOf(text)) > 0 }) as { ok: true },
  };
  const compact = {
    ...message("c"),
    kind: "compact",
    keep: 1,
    via: "command",
    origin: channelOrigin,
  } as const;
  const error = `Nothing was changed. LLM error: ${providerWords("401 key sk-123 at https://models.internal")}`;
  await refuseEntry({ ...bench.agent(), channels }, compact, "compact", error);
  expect(told).toEqual([expect.stringMatching(/^Nothing was changed\. LLM error: .*failed \(401\)/)]);
  expect(told[0]).not.toMatch(/sk-123|internal/);
});
