import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { metaKey } from "../../shared/session/state.ts";
import { channel, type Household, openHousehold } from "./household.ts";

/** Config change by channel users: a sender who may only write to the agent changes how it works (CWE-863). */

let house: Household;
beforeAll(async () => {
  house = await openHousehold();
});
afterAll(() => house.close());

const settingsOf = async (sessionKey: string) =>
  (await house.peers.admin.call<{ settings: object }>("session.get", { sessionKey })).settings;
const group = `agent:main:${channel}:group:garden`;

describe("a guest", () => {
  it.each(["/model evil/model", "/model", "/think high", "/think", "/t 5", "/compact", "/compact 1"])(
    "gets one sentence of refusal for %s, alone and in a group",
    async (text) => {
      for (const room of [undefined, "garden"])
        expect(await house.ask({ from: "gus", text, room })).toMatch(
          /^Only the owner of this agent may use \/\w+\.$/,
        );
      expect(await settingsOf(group)).toEqual({});
      expect(await settingsOf(`agent:main:${channel}:guest:gus`)).toEqual({});
    },
  );

  it.each(["hi /think:high", "/model:evil/model hi", "/t:5", "hi /m:evil and /status"])(
    "gets a refusal of the directive in %j, and no model is called",
    async (text) => {
      const asked = house.model.requests.length;
      expect(await house.ask({ from: "gus", text })).toMatch(
        /^Only the owner of this agent may choose the model/,
      );
      expect(house.model.requests).toHaveLength(asked);
    },
  );

  it("can reset their own conversation, but no shared one", async () => {
    await house.ask({ from: "olga", text: "in the garden", room: "garden" });
    expect(await house.ask({ from: "gus", text: "/reset", room: "garden" })).toMatch(
      /^Only an owner .* others share\.$/,
    );
    expect(await house.ask({ from: "gus", text: "/new", room: "garden" })).toMatch(/^Only an owner/);
    await house.ask({ from: "gus", text: "hello" });
    expect(await house.ask({ from: "gus", text: "/reset" })).toBe("Session reset. Archived 2 messages.");
    expect(await house.ask({ from: "olga", text: "/reset", room: "garden" })).toMatch(/^Session reset/);
  });

  it("sees only the commands that they may use, and the status", async () => {
    expect(await house.ask({ from: "gus", text: "/help" })).not.toMatch(/model|think|compact/);
    expect(await house.ask({ from: "gus", text: "/status" })).toContain(
      `Session: agent:main:${channel}:guest:gus`,
    );
    expect(await house.ask({ from: "gus", text: "hello /status" })).toContain("Session:");
  });

  it("can stop the answer to their own message only", async () => {
    const stop = (from: string) => house.ask({ from, text: "/stop", room: "garden" });
    await house.bring({ from: "olga", text: "wait for the owner", room: "garden" });
    expect(await stop("gus")).toMatch(/not to your message/);
    const { id } = await house.bring({ from: "gus", text: "wait for the guest", room: "garden" });
    expect(await stop("gus")).toMatch(/not to your message/);
    expect(await stop("olga")).toMatch(/^Stopped run /);
    const isNext = () => house.lastRequest().turns.at(-1)?.text.includes("wait for the guest");
    await expect.poll(isNext, { timeout: 20_000 }).toBe(true);
    expect(await stop("gail")).toMatch(/not to your message/);
    expect(await stop("gus")).toBe(`Stopped run ${channel}:default:${await eventId(id)}.`);
    house.release();
  });
});

/** The id of a message's event, which is also its run id. */
async function eventId(messageId: string): Promise<string> {
  const { run } = (await house.gateway.world.table.get(metaKey(group))) as {
    run?: { runId: string };
  };
  const inbox = run?.runId.split(":").at(-1) ?? "";
  return inbox.startsWith(messageId) ? inbox : expect.fail(`the run is of ${run?.runId}`);
}

it("an owner on a channel has all commands", async () => {
  expect(await house.ask({ from: "olga", text: "/model a/b" })).toMatch(/^Model set to a\/b\n/);
  expect(await house.ask({ from: "olga", text: "/think high", room: "garden" })).toBe(
    "Thinking level set to high",
  );
});

it("no agent's tool changes the configuration, not even for an owner", async () => {
  for (const name of ["gsv__ConfigSet", "config.set"])
    expect(await house.ask({ from: "gus", text: `call ${name}` })).toContain("Tool not found");
});
