import { describe, expect, it } from "vitest";
import { asksForHeartbeat } from "../../shared/workspace/heartbeat-file.ts";

const nothing: Record<string, string> = {
  "an empty file": "",
  "white space": " \n\t\r\n",
  headers: "# Heartbeat\n## Later\n#\n###### Deep\n",
  "an underlined header": "Heartbeat\n=========\n",
  "a header underlined with dashes": "Tasks\n-----\n\n Later\n --\n",
  "a comment": "<!-- check the mail -->",
  "a comment over several lines": "# H\n<!--\ncheck the mail\n\n- and this\n-->\n",
  "a comment that never ends": "# H\n<!-- check the mail",
  "horizontal rules": "---\n***\n___\n- - -\n * * *\n----------\n",
  "all of these, with Windows line ends": "# Heartbeat\r\n\r\n<!-- x -->\r\n---\r\n",
};
const something: Record<string, string> = {
  "a line of text": "check the mail",
  "text under a header": "# Heartbeat\ncheck the mail",
  "text beside a comment": "<!-- every hour --> check the mail",
  "text between two comments": "<!-- a -->\ncheck\n<!-- b -->",
  "a list": "- check the mail",
  "a tag that is no header": "#mail",
  "two dashes": "--",
  "text above a rule of dashes": "check the mail\n\n---",
  "a list above dashes": "- check the mail\n---\n",
  "a numbered list above an equals sign": "1. check the mail\n=\n",
  "a paragraph above dashes": "check the mail\nand the post\n---\n",
};

describe("a heartbeat file", () => {
  for (const [what, text] of Object.entries(nothing)) {
    it(`asks for nothing with ${what}`, () => expect(asksForHeartbeat(text)).toBe(false));
  }
  for (const [what, text] of Object.entries(something)) {
    it(`asks for something with ${what}`, () => expect(asksForHeartbeat(text)).toBe(true));
  }
});
