import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { withInput } from "../../../../cli/commands/session/client-command.ts";
import { newFolder } from "../../../support/run/test-folders.ts";

/** Both ends of a socket, as one program passes it to another. */
async function socketPair(): Promise<[Socket & { fd: number }, Socket]> {
  const path = join(newFolder(), "s");
  const server = createServer().listen(path);
  await once(server, "listening");
  const here = connect(path);
  const [there] = (await once(server, "connection")) as [Socket];
  server.close();
  const { fd } = (here as unknown as { _handle: { fd: number } })._handle;
  return [Object.assign(here, { fd }), there];
}

describe("a message with standard input appended", () => {
  it("waits for a slow pipeline, and reports that", async () => {
    const stdin = new PassThrough();
    const notes: string[] = [];
    const whole = withInput("why?", stdin, (text) => notes.push(text), 1);
    await expect
      .poll(() => notes)
      .toEqual([expect.stringContaining("waiting for the end of standard input")]);
    stdin.end("late\n");
    expect(await whole).toBe("why?\n\nlate");
  });

  it("is sent without the input of a silent socket of another program, and reports that", async () => {
    const [stdin, other] = await socketPair();
    const notes: string[] = [];
    expect(await withInput("why?", stdin, (text) => notes.push(text), 1)).toBe("why?");
    expect(notes).toEqual([expect.stringContaining("sending the message without it")]);
    stdin.destroy();
    other.destroy();
  });

  it("contains everything from a socket that sends in time, no matter how long it takes", async () => {
    const [stdin, other] = await socketPair();
    other.write("one ");
    const whole = withInput("why?", stdin, () => {}, 5000);
    await once(stdin, "data");
    other.end("two");
    expect(await whole).toBe("why?\n\none two");
  });
});
