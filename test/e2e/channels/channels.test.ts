import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { set } from "../../../shared/world/expression.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import { openAiError } from "../../support/models/openai-wire/openai-error.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { channelsOf, type Platform, platformStarts } from "../../support/platforms/platforms.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let platforms: Platform[];
/** The model waits for this before it answers a message that contains "wait". */
let gate: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => answerTo(turns.at(-1)?.text ?? ""));
  platforms = await Promise.all(Object.values(platformStarts).map((start) => start()));
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "session.dmScope": "per-channel-peer",
    channels: channelsOf(platforms, { dmPolicy: "open" }),
  });
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  await stack?.close();
  await model?.close();
  for (const platform of platforms ?? []) await platform.close();
});

/** The reply that the newest message asks for. Unanswered messages precede it in the same turn. */
async function answerTo(text: string): Promise<Reply> {
  const newest = text.split(/\n(?=\[\w+ · )/).at(-1) ?? "";
  const [envelope = "", said = ""] = newest.split("\n");
  if (said.includes("wait")) await gate;
  if (said.includes("fail")) return { error: { status: 400, body: openAiError(fault) } };
  return { text: `${envelope} said: ${said}` };
}

const fault = { message: "the model is\nnot here", type: "invalid_request_error" };

const platformOf = (name: string) => platforms.find((platform) => platform.name === name)!;
const deliver = async (platform: Platform, event: object) =>
  (await platform.deliver(stack.cloud.webhook, event)).status;

// One platform is enough here: test/channels/killed.test.ts kills the webhook and the agent at every step on each of
// them.
it("an answer that kill -9 interrupted is sent once, and messages received meanwhile are answered once", async () => {
  let open = () => {};
  gate = new Promise<void>((resolve) => (open = resolve));
  const discord = platformOf("discord");
  expect(await deliver(discord, discord.direct("wait"))).toBe(200);
  await until(() => model.active() === 1, "the model is asked");
  stack.host.kill();
  await until(() => stack.host.instances() === 0, "nothing runs");
  expect(await deliver(discord, discord.direct("and this"))).toBe(200);
  // Do not wait for the dead agent's lease, which lasts half a minute, or the sweep of each minute.
  const held = await stack.table.queryIndex({ index: "due" });
  await Promise.all(
    held.map(({ pk }) =>
      stack.table.update({ pk: String(pk), sk: "META" }, [set("leaseUntil", 1), set("dueAt", 1)]),
    ),
  );
  await stack.cloud.fire("timer", { kind: "sweep" });
  open();
  await until(() => discord.answers().length >= 2, "both messages are answered");
  const said = discord.answers().map((answer) => answer.split("] ")[1]);
  expect(said).toEqual(["said: wait", "said: and this"]);
});

it.each(Object.keys(platformStarts))(
  "%s delivers a text that the model sees after its envelope, shows it as read, and gets the answer",
  async (name) => {
    const platform = platformOf(name);
    platform.forget();
    const [shown, left] = [platform.typing?.() ?? 0, platform.awaiting()];
    expect(await deliver(platform, platform.direct("hello"))).toBe(200);
    await until(() => platform.answers().length === 1, "it is answered");
    expect(platform.answers()[0]?.replaceAll("\\", "")).toMatch(
      new RegExp(`^\\[${name} · \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d\\] said: hello$`),
    );
    if (platform.typing) expect(platform.typing()).toBeGreaterThan(shown);
    expect(platform.awaiting()).toBe(left);
  },
);

// One platform is enough here: turns.test.ts and killed.test.ts in test/channels cover each of them.
describe("a platform", () => {
  const telegram = () => platformOf("telegram");
  const answers = () => telegram().answers();
  const areAnswered = (count: number) => until(() => answers().length >= count, `there are ${count} answers`);
  const direct = (text: string) => deliver(telegram(), telegram().direct(text));

  beforeEach(() => telegram().forget());

  it("gets its response long before the model answers, and a command is answered meanwhile", async () => {
    let open = () => {};
    gate = new Promise<void>((resolve) => (open = resolve));
    expect(await direct("wait, then say yes")).toBe(200);
    expect(answers()).toEqual([]);
    expect(await direct("/think low")).toBe(200);
    await areAnswered(1);
    expect(answers()).toEqual(["Thinking level set to low"]);
    open();
    await areAnswered(2);
    expect(answers()).toContainEqual(expect.stringContaining("said: wait, then say yes"));
  });

  it("gets one line when a turn fails", async () => {
    expect(await direct("fail")).toBe(200);
    await areAnswered(1);
    expect(answers()).toEqual([
      expect.stringMatching(/^Sorry, that failed: .*provider failed \(\d+\); .* \(\w+:default:.+\)$/),
    ]);
  });
});
