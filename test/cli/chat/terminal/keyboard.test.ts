import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { Keyboard } from "../../../../cli/chat/terminal/keyboard.ts";

/** A keyboard that has just been opened. */
function taken() {
  const stdin = new PassThrough();
  const keys: string[] = [];
  new Keyboard({ stdin, stdout: new PassThrough() }, (data) =>
    keys.push(Buffer.from(data).toString()),
  ).open();
  return { keys, type: (text: string) => stdin.emit("data", Buffer.from(text)) };
}

it("reads a line feed typed before the keyboard was opened as Enter", () => {
  const { keys, type } = taken();
  type("early\nhalf");
  expect(keys).toEqual(["early\rhalf"]);
});

it("reads Ctrl-J typed after the keyboard was opened", async () => {
  const { keys, type } = taken();
  type("one\u001b\rtwo\nthree \\\rfour");
  expect(keys).toEqual(["one\u001b\rtwo\nthree \\\rfour"]);
  await nextTurn();
  await nextTurn();
  await nextTurn();
  type("five\nsix");
  expect(keys.at(-1)).toBe("five\nsix");
});
