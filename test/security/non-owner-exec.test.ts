import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bash, channel, type Household, notFound, openHousehold, ran } from "./household.ts";

/** Exec by non-owners: a sender who may write to the agent makes it run commands on the owner's machine (CWE-862). */

let house: Household;
beforeAll(async () => {
  house = await openHousehold();
});
afterAll(() => house.close());

describe("a guest", () => {
  it("is offered no tool and no name of a machine, and such a call of the model is refused", async () => {
    const answer = await house.ask({ from: "gus", text: bash });
    expect(answer).toMatch(notFound);
    expect(house.calls).toEqual([]);
    const { tools, system } = house.lastRequest();
    expect(tools).toEqual(["gsv__ReadFile", "gsv__WebFetch"]);
    expect(system).not.toContain("laptop");
    expect(system).toContain("was written by a guest");
  });

  it.each([
    "gsv__ConfigGet",
    "gsv__LogsGet",
    "gsv__Message",
    "gsv__Cron",
    "gsv__WriteFile",
    "gsv__EditFile",
    "gsv__DeleteFile",
  ])("cannot use %s, even if the model calls it", async (tool) => {
    expect(await house.ask({ from: "gus", text: `call ${tool}` })).toContain(`Tool not found: ${tool}`);
  });

  it("stays a guest whatever their display name, even if everybody may write", async () => {
    await house.configuration.set(`channels.${channel}.dmPolicy`, "open");
    for (const from of ["*", " olga", "olga ", "OLGA/1", "ol\u200bga", "workshop"])
      expect(await house.ask({ from, text: bash }), from).toMatch(notFound);
    await house.configuration.set(`channels.${channel}.dmPolicy`, "allowlist");
    expect(house.calls).toEqual([]);
  });

  it("stays a guest despite a link of identities or an admitted room", async () => {
    await house.configuration.set("session.identityLinks", { olga: ["gus", `${channel}:gus`] });
    await house.configuration.set(`channels.${channel}.allowFrom`, ["gus", "gail", "garage"]);
    expect(await house.ask({ from: "gus", text: bash })).toMatch(notFound);
    expect(await house.ask({ from: "anybody", text: bash, room: "garage" })).toMatch(notFound);
    await house.configuration.set("session.identityLinks", null);
    expect(house.calls).toEqual([]);
  });
});

describe("in a group", () => {
  it.each([
    ["olga", "garden", false],
    ["gus", "garden", false],
    ["olga", "workshop", true],
    ["gus", "workshop", false],
    ["olga", "kitchen", true],
    ["gus", "kitchen", true],
    ["olga", "workshop/7", true],
    ["gus", "workshop/7", false],
  ])("%s in %s may use the machines: %s", async (from, room, mayRun) => {
    const before = house.calls.length;
    const answer = await house.ask({ from, text: bash, room });
    expect(answer).toMatch(mayRun ? ran : notFound);
    expect(house.calls.length - before).toBe(mayRun ? 1 : 0);
  });

  it("an owner who writes as a client has only the rights of the group", async () => {
    const { admin } = house.peers;
    const before = house.calls.length;
    expect(await house.say(admin, `agent:main:${channel}:group:garden`, bash)).toMatch(notFound);
    expect(await house.say(admin, `agent:main:${channel}:group:unheard-of`, bash)).toMatch(notFound);
    expect(await house.say(admin, `agent:main:${channel}:guest:gus`, bash)).toMatch(notFound);
    expect(house.calls).toHaveLength(before);
    expect(await house.say(admin, `agent:main:${channel}:group:workshop`, bash)).toContain(ran);
  });
});

it("an owner may use the machines in their own conversation, until they are removed", async () => {
  expect(await house.ask({ from: "olga", text: bash })).toContain(ran);
  await house.configuration.set(`channels.${channel}.owners`, []);
  await house.configuration.set(`channels.${channel}.allowFrom`, ["olga"]);
  expect(await house.ask({ from: "olga", text: bash })).toMatch(notFound);
});
