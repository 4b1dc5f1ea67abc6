import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { readRequest } from "../../../shared/approvals/requests.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import { inboundParams, openBridge } from "../../support/bridge.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import type { Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let bridge: Awaited<ReturnType<typeof openBridge>>;
let other: typeof bridge;
let client: Peer;
let messages = 0;
/** A bridge shows at most 16,000 characters. */
const contentOf = (path: string) => "x".repeat(path === "long.md" ? 17_000 : 1);

beforeAll(async () => {
  model = await startOpenAiServer(async ({ turns }) => {
    const last = turns.at(-1);
    if (last?.role !== "user") return { text: "done" };
    const said = last.text.split("]\n").at(-1) ?? "";
    const write = (path: string) => ({
      name: "gsv__WriteFile",
      arguments: { path, content: contentOf(path) },
    });
    if (said.startsWith("go ")) return { toolCalls: said.slice(3).split(" ").map(write) };
    return { text: `answer to ${said}` };
  });
  stack = await startStack();
  const open = { dmPolicy: "open", owners: ["ann", "carl"] };
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "toolApproval.mode": "ask",
    "session.dmScope": "per-channel-peer",
    channels: { mychat: { ...open, trustApprovals: true }, plain: open },
  });
  bridge = await attach("mychat");
  other = await attach("plain");
  client = await stack.client("laptop");
});
beforeEach(() => {
  for (const one of [bridge, other]) one.events.length = 0;
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await bridge?.close();
  await other?.close();
  await client?.close();
  await stack?.close();
  await model?.close();
});

async function attach(channel: string) {
  const { token } = await createToken(
    stack.table,
    { name: channel, scopes: ["channel"], channel },
    Date.now(),
  );
  return openBridge(stack.cloud.ws, token, channel);
}

const params = (text: string, from = "ann", channel = "mychat") =>
  inboundParams(channel, `m${++messages}`, text, { peer: { kind: "dm", id: from } });
const write = (text: string, from?: string) => bridge.call("channel.inbound", params(text, from));
const hears = (text: string | RegExp, from = bridge) =>
  until(() => from.texts().some((one) => one.match(text)), `the bridge hears ${text}`);

/** Has the agent ask before it writes these files. @returns the ids of the requests */
async function ask(...paths: string[]): Promise<string[]> {
  await write(`go ${paths.join(" ")}`);
  const questions = () => bridge.texts().filter((one) => one.startsWith("May I use"));
  await until(() => questions().length === paths.length, "the agent asks");
  return questions().map((one) => /approvals allow (\S+)`/.exec(one)![1]!);
}
const stateOf = async (id: string) => (await readRequest(stack.table, id))?.state;
const wrote = async (path: string) => {
  const { files } = await client.call<{ files: string[] }>("workspace.list", {});
  return files.includes(path);
};

it("an owner's yes runs the call, and a second answer learns who gave the first", async () => {
  const [id = ""] = await ask("yes.md");
  const short = id.slice(0, 4);
  expect(bridge.texts()[0]).toContain(`Write \`yes ${short}\` or \`no ${short}\`. Or \`gsv approvals allow`);
  const yes = params(` Yes ${short.toUpperCase()}. `);
  expect(await bridge.call("channel.inbound", yes)).toEqual({
    ...{ status: "command", sessionKey: "agent:main:mychat:dm:ann", command: "yes" },
    response: "Allowed once by mychat ann.",
  });
  await hears(/^done$/);
  expect([await wrote("yes.md"), await stateOf(id)]).toEqual([true, "allowed"]);
  const already = "Already answered. Allowed once by mychat ann.";
  expect(await write(`no ${id}`)).toMatchObject({ response: already });
  // A repeated delivery tells nothing twice.
  expect(await bridge.call("channel.inbound", yes)).toMatchObject({ response: already });
  await hears(already);
  expect(bridge.texts().slice(1)).toEqual(["Allowed once by mychat ann.", "done", already]);
});

it("an owner's no keeps the call from running", async () => {
  const [id = ""] = await ask("no.md");
  expect(await write(`no ${id.slice(0, 4)}`)).toMatchObject({ response: "Denied by mychat ann." });
  await hears(/^done$/);
  expect([await wrote("no.md"), await stateOf(id)]).toEqual([false, "denied"]);
});

it("nobody else answers: what they write is a message", async () => {
  const [id = ""] = await ask("others.md");
  const short = id.slice(0, 4);
  // A guest, and an owner who was not asked in this conversation.
  for (const from of ["bob", "carl"])
    expect(await write(`yes ${short}`, from)).toMatchObject({ status: "started" });
  await until(() => bridge.texts().filter((one) => one === `answer to yes ${short}`).length === 2, "both");
  const inRoom = { peer: { kind: "group", id: "g" }, sender: { id: "ann" }, wasMentioned: true };
  const said = inboundParams("mychat", `m${++messages}`, `yes ${short}`, inRoom);
  expect(await bridge.call("channel.inbound", said)).toMatchObject({ status: "started" });
  expect([await wrote("others.md"), await stateOf(id)]).toEqual([false, "open"]);
  await write(`no ${short}`);
  await hears(/^done$/);
});

it("what does not clearly answer one request answers none, and sets none aside", async () => {
  const ids = await ask("one.md", "two.md");
  const shorts = ids.map((id) => id.slice(0, 4));
  const { response } = await write("yes");
  for (const short of shorts)
    expect(response).toMatch(new RegExp(`^Not answered. Say which:.*\`yes ${short}\``));
  expect(await write(`yes ${shorts[0]} but only today`)).toMatchObject({
    response: `Not answered. Write only \`yes ${shorts[0]}\`, or something else`,
  });
  expect(await Promise.all(ids.map(stateOf))).toEqual(["open", "open"]);
  for (const one of shorts) await write(`no ${one}`);
  await hears(/^done$/);
  expect([await wrote("one.md"), await wrote("two.md")]).toEqual([false, false]);
});

it("other words after yes are a message, which sets the request aside", async () => {
  const [id = ""] = await ask("please.md");
  expect((await write("yes please")).response).toBeUndefined();
  await hears("answer to yes please");
  expect([await wrote("please.md"), await stateOf(id)]).toEqual([false, "withdrawn"]);
});

it("a call that is not shown whole can only be refused", async () => {
  const [id = ""] = await ask("long.md");
  const short = id.slice(0, 4);
  expect(bridge.texts()[0]).toContain(`Write \`no ${short}\`. Or`);
  expect(await write(`yes ${short}`)).toMatchObject({ response: "This cannot be answered here." });
  expect(await stateOf(id)).toBe("open");
  await write(`no ${short}`);
  await hears(/^done$/);
});

it("without trust the question offers no words, and yes is a message", async () => {
  await other.call("channel.inbound", params("go plain.md", "ann", "plain"));
  await hears("May I use", other);
  expect(other.texts()[0]).toContain("Answer with `gsv approvals allow");
  expect(other.texts()[0]).not.toContain("yes");
  const [, id = ""] = /approvals allow (\S+)`/.exec(other.texts()[0]!) ?? [];
  await other.call("channel.inbound", params(`yes ${id.slice(0, 4)}`, "ann", "plain"));
  await hears("answer to yes", other);
  expect([await wrote("plain.md"), await stateOf(id)]).toEqual([false, "withdrawn"]);
});
