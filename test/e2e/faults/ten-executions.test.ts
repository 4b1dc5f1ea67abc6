import { afterAll, beforeAll, expect, it } from "vitest";
import { type Gateway, openGateway } from "../../../cli/gateway/gateway-client.ts";
import { maxAgentsOf } from "../../../shared/runtime/max-agents.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import type { Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

/** The limit of a new account. */
const concurrency = 10;
const agents = maxAgentsOf(concurrency) ?? 0;

const rooms = Array.from({ length: 40 }, (_, i) => `room-${i}`);
/** A busy machine needs longer than any person would wait. */
const patience = 300_000;

let stack: Stack;
let model: ModelServer;
let client: Peer;
let cli: Gateway;
/** The rooms whose question the model got, oldest first, and what lets it answer. */
const asked: { room: string; answer(): void }[] = [];

beforeAll(async () => {
  model = await startOpenAiServer(async ({ turns }) => {
    const room = turns.at(-1)?.text ?? "";
    await new Promise<void>((answer) => asked.push({ room, answer }));
    return { text: `answer to ${room}` };
  });
  stack = await startStack({
    concurrency,
    maxInstances: agents,
    environment: (env) => ({ ...env, MAX_AGENTS: String(agents) }),
  });
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
  client = await stack.client();
  cli = await openGateway(stack.cloud.ws, stack.token);
}, patience);
afterAll(async () => {
  for (const { answer } of asked) answer();
  expect(stack.roles.refusals()).toEqual([]);
  await cli?.close();
  await stack?.close();
  await model?.close();
});

const send = (room: string, message = room) =>
  cli.request("chat.send", { sessionKey: room, message, runId: `${message} in ${room}` }, patience);

const waiting = async () => {
  const item = await stack.table.get({ pk: "SLOTS", sk: "AGENTS" });
  return ((item?.waiting ?? []) as string[]).map((key) => String(key.split(":").at(-1)));
};

it(
  "forty sessions at once are answered in turn in an account of ten executions, and stops meanwhile",
  async () => {
    await Promise.all(rooms.map((room) => send(room)));
    expect(stack.cloud.throttled()).toBeGreaterThan(0);
    await until(() => asked.length === agents, "all slots are in use", patience);
    const inTurn = await waiting();
    expect([...asked.map(({ room }) => room), ...inTurn].sort()).toEqual([...rooms].sort());

    const running = asked[0]?.room ?? "";
    expect(await send(running, "/stop")).toMatchObject({ status: "command", command: "stop" });
    // No other session was served before the stop was accepted.
    expect(asked).toHaveLength(agents);
    expect(await client.ended(`${running} in ${running}`, patience)).toMatchObject({ state: "error" });

    // Each end, first that of the stopped run, lets the next session begin.
    for (const [i, room] of inTurn.entries()) {
      await until(() => asked.length > agents + i, `${room} is served`, patience);
      expect(asked.map((one) => one.room).slice(agents)).toEqual(inTurn.slice(0, i + 1));
      asked[i + 1]?.answer();
    }
    for (const { answer } of asked) answer();
    for (const room of rooms.filter((one) => one !== running))
      expect(await client.ended(`${room} in ${room}`, patience)).toMatchObject({ state: "final" });
    expect(model.requests).toHaveLength(rooms.length);
    // Nothing is left to the sweep, which does not run here.
    await until(async () => {
      const slots = await stack.table.get({ pk: "SLOTS", sk: "AGENTS" });
      return [slots?.running, slots?.waiting].flat().length === 0;
    }, "no slot is in use");
  },
  patience,
);
