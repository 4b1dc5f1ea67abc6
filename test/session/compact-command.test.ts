import { describe, expect, it } from "vitest";
import { runCommand } from "../../shared/session/commands/commands.ts";
import { parseCommand } from "../../shared/session/commands/parse-command.ts";
import type { Intake } from "../../shared/session/intake.ts";

const run = (text: string) => runCommand({} as Intake, "agent:main:main", "c1", parseCommand(text)!, {});

describe("/compact", () => {
  it.each([
    ["/compact", 20],
    ["/Compact 5", 5],
    ["/compact  1 ", 1],
  ])("as %j keeps %d messages, after earlier entries", async (text, keep) => {
    expect(await run(text)).toEqual({ entry: { kind: "compact", keep } });
  });

  it.each(["/compact all", "/compact 0", "/compact -3", "/compact 2.5", "/compact 5 now", "/compact 1e3"])(
    "refuses %j at once",
    async (text) => {
      expect(await run(text)).toEqual({ error: "Invalid count. Usage: /compact [N]" });
    },
  );

  it("is listed in the help", async () => {
    expect(await run("/help")).toMatchObject({ response: expect.stringContaining("/compact [N]") });
  });
});
