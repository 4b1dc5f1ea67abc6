import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import { bridgeHouse } from "./bridge-house.ts";

const house = bridgeHouse();
const annsDm = "5001";
const posted = () => house.discord.messages;

/** Starts a bridge. The agent answers every text alike, and the whole turn is recorded. */
async function begin(): Promise<void> {
  house.answer = ({ turns }) => {
    house.asked.push(turns.findLast(({ role }) => role === "user")?.text ?? "");
    return { text: "It is blue." };
  };
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
}

/** Writes, and waits for the answer. @returns the answer */
async function ask(content: string, more: { channel_id?: string; guild_id?: string } = {}) {
  const before = posted().length;
  house.gateway.write({ content, ...more });
  await until(() => posted().length > before, "it is answered");
  return posted().at(-1)!;
}

/** The answers' texts are kept: there is a receipt of each. */
const areConfirmed = async () =>
  (await house.dev.cloud.world.table.query({ pk: "OUT#discord#default" })).length === 0;

it("the owner's verdict on an answer is a line of the next turn, and one that is taken back is none", async () => {
  await begin();
  const [first, second] = [await ask("the sky?"), await ask("the sea?")];
  await until(areConfirmed);
  const { react } = house.gateway;
  react(first, "👎🏽");
  react(first, "👍");
  react(first, "👍", { isRemoved: true });
  react(second, "👍");
  react(second, "👍", { isRemoved: true });
  const stranger = { user_id: "9" };
  react(second, "👎", stranger);
  const told = await ask("and now?");
  expect(house.asked).toHaveLength(3);
  expect(house.asked[2]).toContain("[the owner reacted 👎 to your answer: It is blue.]");
  expect(house.asked[2]?.match(/reacted/g)).toHaveLength(1);
  expect(told.content).toBe("It is blue.");
});

it("the verdict that remains counts when another one is taken back", async () => {
  await begin();
  const answer = await ask("the sky?");
  await until(areConfirmed);
  house.gateway.react(answer, "👎");
  house.gateway.react(answer, "👍");
  house.gateway.react(answer, "👎", { isRemoved: true });
  await ask("and now?");
  expect(house.asked[1]?.match(/reacted .*/g)).toEqual(["reacted 👍 to your answer: It is blue.]"]);
});

it("a bridge whose session knows no reactions begins a new one, and loses no message", async () => {
  await begin();
  const answer = await ask("the sky?");
  await until(areConfirmed);
  await house.stopBridges();
  const { stateFile } = house.options;
  const { intents: _intents, ...before } = JSON.parse(readFileSync(stateFile, "utf8"));
  writeFileSync(stateFile, JSON.stringify(before));
  house.gateway.write({ content: "missed" });
  house.bridge();
  await until(() => posted().length === 2, "the missed message is answered");
  expect(house.gateway.begun).toEqual(["identify", "identify"]);
  house.gateway.react(answer, "👍");
  await ask("and now?");
  expect(house.asked[2]).toContain("reacted 👍 to your answer");
});

it("neither a reaction to somebody else, nor any other emoji, leaves Discord", async () => {
  await begin();
  const answer = await ask("the sky?");
  await until(areConfirmed);
  const asked = house.discord.calls.length;
  house.gateway.react({ id: "12", channel_id: "777" }, "👍", { message_author_id: "9" });
  house.gateway.react({ ...answer, channel_id: "778" }, "🔥");
  house.gateway.react({ id: "13", channel_id: "779" }, "👍", { isRemoved: true });
  await ask("and now?");
  expect(house.asked[1]).not.toContain("reacted");
  // The bridge asks where a message is that it forwards.
  const paths = house.discord.calls.slice(asked).map(({ path }) => path);
  expect(paths.filter((path) => /77[789]/.test(path))).toEqual([]);
});

it("a reaction in a thread belongs to its answer", async () => {
  house.discord.gateway.channels.set("700", { type: 11, name: "plans", parent_id: "600" });
  await begin();
  const bot = house.discord.applicationId;
  const thread = { guild_id: "1", channel_id: "700", mentions: [{ id: bot, username: "gsv" }] };
  const answer = await ask(`<@${bot}> the sky?`, thread);
  await until(areConfirmed);
  house.gateway.react(answer, "👍");
  await ask(`<@${bot}> and now?`, thread);
  expect(house.asked[1]).toContain("reacted 👍 to your answer: It is blue.");
});

it("marks show that a message was accepted and how its run has ended, and one that Discord refuses ends nothing", async () => {
  await house.dev.configuration.set("channels.discord.reactions", true);
  await begin();
  let release = () => {};
  const waits = new Promise<void>((resolve) => (release = resolve));
  house.answer = async ({ turns }) => {
    await waits;
    return turns.at(-1)?.text?.includes("fail")
      ? { error: { status: 400, message: "no" } }
      : { text: "Yes." };
  };
  const id = house.gateway.write({ content: "the sky?" });
  await until(() => house.discord.reactions.has(`${annsDm}/${id}/👀`), "it is accepted");
  release();
  await until(() => [...house.discord.reactions].join() === `${annsDm}/${id}/✅`, "it is answered");
  const failing = house.gateway.write({ content: "fail" });
  await until(() => house.discord.reactions.has(`${annsDm}/${failing}/❌`), "it fails");
  house.gateway.change(failing, {
    content: "the sea?",
    edited_timestamp: "2026-11-27T08:00:00.000000+00:00",
  });
  await until(() => house.discord.reactions.has(`${annsDm}/${failing}/✅`), "its edit is answered");
  await until(() => !house.discord.reactions.has(`${annsDm}/${failing}/❌`), "one mark remains");
  // Its author deletes a message before the bot can react to it.
  const gone = house.gateway.write({ content: "gone" });
  house.discord.gateway.written.pop();
  const refusals = () =>
    house.discord.calls.filter(({ status, path }) => status === 404 && path.includes(gone));
  await until(() => refusals().length > 1, "Discord refuses the marks");
  const last = house.gateway.write({ content: "the sea?" });
  await until(() => house.discord.reactions.has(`${annsDm}/${last}/✅`), "the next one is marked");
});
