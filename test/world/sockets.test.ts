import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventFrame, maxFrameBytes } from "../../shared/protocol/frames.ts";
import { type TestWorld, worlds } from "./worlds.ts";

describe.each(worlds)("the sockets of %s", (_name, open) => {
  let test: TestWorld;
  beforeAll(async () => {
    test = await open();
  });
  afterAll(() => test.close());

  /** An event whose frame has exactly this many bytes. */
  const frameOf = (bytes: number) => {
    const empty = Buffer.byteLength(JSON.stringify(eventFrame("chat", { text: "" } as never)));
    return eventFrame("chat", { text: "x".repeat(bytes - empty) } as never);
  };

  it("carry a frame to its connection, in the order in which frames are posted", async () => {
    const { connectionId, received } = await test.connect();
    const frames = [1, 2, 3].map((n) => eventFrame("chat", { n, text: "größe" } as never));
    for (const frame of frames) expect(await test.world.sockets.post(connectionId, frame)).toBe("sent");
    await expect.poll(() => received.length).toBe(3);
    expect(received.map((text) => JSON.parse(text))).toEqual(frames);
  });

  it("send 128 KB, and say of one byte more that it is too large", async () => {
    const { connectionId, received } = await test.connect();
    expect(await test.world.sockets.post(connectionId, frameOf(maxFrameBytes))).toBe("sent");
    expect(await test.world.sockets.post(connectionId, frameOf(maxFrameBytes + 1))).toBe("too large");
    await expect.poll(() => received.length).toBe(1);
    expect(received[0]).toHaveLength(maxFrameBytes);
  });

  it("say of a connection that has ended, or never was, that it is gone", async () => {
    const { connectionId, socket } = await test.connect();
    socket.close();
    await once(socket, "close");
    const post = (id: string) => test.world.sockets.post(id, eventFrame("chat", {} as never));
    await expect.poll(() => post(connectionId)).toBe("gone");
    expect(await post("AAAAAAAAAAAAAAA=")).toBe("gone");
  });

  it("say of a connection whose peer does not read that it is busy, and go on when it reads again", async () => {
    const { connectionId, socket, received } = await test.connect();
    const other = await test.connect();
    socket.pause();
    const flood = async () => {
      for (let sent = 0; sent < 400; sent++) {
        const outcome = await test.world.sockets.post(connectionId, frameOf(maxFrameBytes), { once: true });
        if (outcome !== "sent") return [outcome, sent] as const;
      }
    };
    const [outcome, sent] = (await flood())!;
    expect(outcome).toBe("busy");
    expect(await test.world.sockets.post(other.connectionId, frameOf(100), { once: true })).toBe("sent");
    socket.resume();
    await expect.poll(() => received.length).toBe(sent);
    expect(await test.world.sockets.post(connectionId, frameOf(100), { once: true })).toBe("sent");
  });

  it("end a connection, once or twice", async () => {
    const { connectionId, socket } = await test.connect();
    const closed = once(socket, "close");
    await test.world.sockets.close(connectionId);
    const [code] = await closed;
    expect(code).toBe(1000);
    await test.world.sockets.close(connectionId);
  });
});
