import { afterAll, beforeAll, expect, it } from "vitest";
import { findObject } from "../../../functions/agent/objects/find-object.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import { type State, startState } from "../../support/state.ts";
import { callIdsOf, holdLongSession, type LongSession } from "./long-session.ts";

let state: State;
let without: LongSession;
let inline: LongSession;
let pools: LongSession;

const way = { turns: 40, contextWindow: 16_000 } as const;

beforeAll(async () => {
  state = await startState();
  without = await holdLongSession(state, "agent:w:main", { ...way, rendering: "inline", deactivates: false });
  inline = await holdLongSession(state, "agent:i:main", { ...way, rendering: "inline", deactivates: true });
  pools = await holdLongSession(state, "agent:p:main", { ...way, rendering: "pools", deactivates: true });
});
afterAll(() => state?.close());

it("C11: needs at most half of the compactions if old results become references first, and reads nothing again", () => {
  expect(without.figures.compactions).toBeGreaterThan(3);
  expect(inline.figures.compactions).toBeLessThanOrEqual(without.figures.compactions / 2);
  expect(pools.figures.compactions).toBeLessThanOrEqual(without.figures.compactions / 2);
  expect(without.figures.readAgain).toBeGreaterThan(3);
  for (const { figures } of [inline, pools]) {
    expect(figures.readAgain).toBe(0);
    expect(figures.activated).toBeGreaterThan(3);
    expect(figures.refused).toBe(0);
    expect(figures.largest).toBeLessThanOrEqual(way.contextWindow);
  }
});

it("M41: every earlier call can be activated by its id, and shows the same result", async () => {
  for (const session of [inline, pools]) {
    const { bench, sessionKey, readings } = session;
    const agent = bench.agent();
    const sessionState = await bench.state(sessionKey);
    const messages = await agent.history.load(sessionState);
    const audience = audienceOf("main");
    expect(readings.length).toBeGreaterThan(60);
    expect(await callIdsOf(session)).toEqual(expect.arrayContaining(readings.map(({ id }) => id)));
    for (const { id, words } of readings) {
      const found = await findObject(agent, { state: sessionState, messages, audience }, id);
      expect(found).toMatchObject({ status: "found", id, text: expect.stringContaining(words) });
    }
  }
});
