import { afterAll, beforeAll, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { type Intake, submitMessage } from "../../shared/session/intake.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const sessionKey = "agent:main:empty";
const origin = { kind: "client" } as const;
const media = [{ type: "image", mimeType: "image/png", r2Key: "media/x", size: 1 }] as const;

function intake(): Intake {
  const configuration = { load: async () => defaults };
  return { table: state.table, configuration, wake: async () => {}, now: () => 1 } as unknown as Intake;
}

it.each(["", " ", "\n\t  \u00a0"])(
  "a message of only white space (%j) is refused, and no run starts",
  async (text) => {
    await expect(
      submitMessage(intake(), sessionKey, { id: "blank", text, origin, writer: {} }),
    ).rejects.toMatchObject({
      code: 400,
      message: expect.stringContaining("empty"),
    });
    expect(await readSession(state.table, sessionKey)).toBeUndefined();
  },
);

it("a picture needs no text", async () => {
  const taken = await submitMessage(intake(), sessionKey, {
    id: "picture",
    text: " ",
    media,
    origin,
    writer: {},
  });
  expect(taken).toMatchObject({ status: "started", runId: "picture" });
});
