import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestText } from "../../../cli/chat/request-text.ts";
import { preview, refuseHidden } from "../../../cli/commands/skills/skill-preview.ts";
import type { Approval } from "../../../shared/protocol/approvals.ts";
import { type Household, openHousehold } from "../household.ts";

/** Hidden text: the reader of a request or a skill does not see what will be run or obeyed (CVE-2021-42574). */

const hidden = {
  "text of another direction": "\u202e",
  isolate: "\u2067",
  "a zero-width space": "\u200b",
  "a tag": "\u{e0072}",
  "a soft hyphen": "\u00ad",
  "a filler": "\u3164",
  "a variation selector": "\u{e0100}",
  "an escape": "\u001b[8m",
  backspace: "\b",
  "a line separator": "\u2028",
};
const cases = Object.entries(hidden);
const marked = (character: string) =>
  `⟨U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** JSON of printable characters alone. */
const escaped = (value: object) =>
  JSON.stringify(value).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

describe("a request", () => {
  let house: Household;
  beforeAll(async () => {
    house = await openHousehold();
    await house.configuration.set("toolApproval.mode", "ask");
  });
  afterAll(() => house.close());

  it.each(cases)("shows %s in the direct message and at the terminal", async (_, character) => {
    const command = `ls ${character}; rm x`;
    const { id } = await house.bring({
      from: "olga",
      text: `call laptop__Bash ${escaped({ command })}`,
    });
    const told = await house.told(id);
    const { approvals } = await house.peers.client.call<{ approvals: Approval[] }>("approval.list", {});
    const request = approvals.find(({ args }) => args.command === command) as Approval;
    for (const text of [told, requestText(request)]) expect(text).toContain(`ls ${marked(character)}`);
    for (const text of [told, requestText(request), requestText({ ...request, args: { of: command } })])
      expect(text).not.toContain(character[0]);
  });
});

describe("a skill", () => {
  it.each(cases)("with %s is shown with it, and refused", (_, character) => {
    const text = `Make tea.${character}`;
    const files = [{ path: "SKILL.md", body: Buffer.from(text), text }];
    const skill = { document: { description: "tea", proposal: {} }, files, left: [] } as never;
    expect(preview({ skill, agentId: "main", name: "tea" })).toContain(`Make tea.${marked(character)}`);
    expect(() => refuseHidden(skill)).toThrow(marked(character));
  });
});
