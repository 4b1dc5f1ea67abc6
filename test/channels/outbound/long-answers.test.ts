import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import type { Channels } from "../../../shared/channels/channel.ts";
import { channels } from "../../../shared/channels/channels.ts";
import { createChannelSender } from "../../../shared/channels/outbound/sender.ts";
import { type ChannelState, deathAt, originOf, startChannels, watched } from "../fixture.ts";

let on: ChannelState;
let clock = 1_800_000_000_000;
let lines: { event?: string }[];
let deliveries = 0;
let id: string;

const toAnn = originOf("dm", "5001002003", "3");
const plan = { filename: "plan.pdf", mimeType: "application/pdf", body: Buffer.from("%PDF") };

beforeAll(async () => {
  on = await startChannels();
});
afterAll(() => on.close());
beforeEach(() => {
  id = `delivery-${++deliveries}`;
  on.telegram.calls.length = 0;
  on.telegram.sent.length = 0;
  on.telegram.uploads.length = 0;
  lines = [];
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(JSON.parse(String(line))) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const wait = async (ms: number) => {
  clock += ms;
};
const senderOver = (table = on.table, over: Channels = channels) =>
  createChannelSender({ ...on, table, channels: over, now: () => clock, wait });
const sentTexts = () => on.telegram.sent.map(({ text }) => text?.[0]);

const letters = ["a", "b", "c", "d", "e", "f"];
const longer = letters.map((letter) => letter.repeat(3000)).join("\n\n");
const methods = () => on.telegram.calls.map(({ method }) => method);

it("a text of more than four parts is three messages, and then a file with all of it; a repeat sends nothing again", async () => {
  for (let time = 0; time < 2; time++)
    expect(await senderOver().deliver(toAnn, id, { markdown: longer }, plan)).toEqual({ ok: true });
  expect(methods()).toEqual([...Array(3).fill("sendMessage"), "sendDocument", "sendDocument"]);
  expect(sentTexts().slice(0, 3)).toEqual(["a", "b", "c"]);
  expect(on.telegram.uploads.map(({ file }) => file?.name)).toEqual(["answer.md", "plan.pdf"]);
  expect(await on.telegram.uploads[0]?.file?.text()).toBe(longer);
});

it("a text of four parts is four messages", async () => {
  const four = letters.slice(0, 4).map((letter) => letter.repeat(3000));
  expect(await senderOver().deliver(toAnn, id, four.join("\n\n"))).toEqual({ ok: true });
  expect(sentTexts()).toEqual(["a", "b", "c", "d"]);
});

it("the rest follows as texts if the platform refuses the file, also when it is repeated", async () => {
  on.telegram.fail("sendDocument", {
    status: 400,
    description: "Bad Request: no rights to send documents",
  });
  for (let time = 0; time < 2; time++)
    expect(await senderOver().deliver(toAnn, id, longer)).toEqual({ ok: true });
  expect(sentTexts()).toEqual(letters);
  expect(lines.filter(({ event }) => event === "channel.failed")).toHaveLength(1);
});

it("after a crash only what may not have been sent is sent", async () => {
  for (let index = 0; index < 12; index++) {
    id = `long-crash-${index}`;
    on.telegram.sent.length = 0;
    const { table, over } = watched(on.table, deathAt(index, "before"));
    await expect(senderOver(table, over).deliver(toAnn, id, longer)).rejects.toThrow("the process died");
    clock += 90_000;
    expect(await senderOver().deliver(toAnn, id, longer)).toEqual({ ok: true });
    // Before the receipt is updated, the part was sent.
    expect(on.telegram.sent, `${index}`).toHaveLength(index % 3 === 2 ? 5 : 4);
  }
});
