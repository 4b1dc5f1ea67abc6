import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestWorld, worlds } from "./worlds.ts";

describe.each(worlds)("the wake of %s", (_name, open) => {
  let test: TestWorld;
  beforeAll(async () => {
    test = await open();
  });
  afterAll(() => test.close());

  it("invokes the agent function with the session's key and the version of the configuration, once for each call", async () => {
    await test.world.wake("agent:main:main");
    await test.world.wake("agent:main:cli:dm:größe", 7);
    await expect
      .poll(() => test.invocations)
      .toEqual([
        { name: "agent", event: { sessionKey: "agent:main:main" } },
        { name: "agent", event: { sessionKey: "agent:main:cli:dm:größe", configurationVersion: 7 } },
      ]);
  });
});
