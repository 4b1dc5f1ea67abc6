import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { textOf } from "../../shared/protocol/messages.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { metaKey } from "../../shared/session/state.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { remove } from "../../shared/world/expression.ts";
import { immortal } from "../agent/bench.ts";
import { CommandBench } from "./command-bench.ts";

let commands: CommandBench;
beforeEach(async () => {
  commands = new CommandBench();
  await commands.start();
  await commands.reconnect("one");
});
afterEach(() => commands.close());

/** Does something once, in the next grace period. */
const inGrace = (act: () => Promise<unknown>) => {
  const { meanwhile } = commands.world;
  meanwhile.act = () => {
    meanwhile.act = async () => {};
    return act();
  };
};
const pending = async () => Object.keys((await commands.bench.state(commands.sessionKey)).run?.pending ?? {});
const answer = (callId: string) => commands.request("tool.result", { callId, result: "made" });
/** Lets the agent continue. @returns the result that the model sees; undefined while the run waits */
async function result(): Promise<string | undefined> {
  await commands.work();
  const messages = await commands.messages();
  return messages.flatMap((one) => (one.role === "toolResult" ? [textOf(one)] : [])).at(-1);
}
const accepted = expect.objectContaining({ ok: true, payload: { ok: true } });
const dropped = expect.objectContaining({ ok: true, payload: { ok: true, dropped: true } });
const left = expect.stringMatching(
  /^Error: the machine disconnected during the call .* the outcome is unknown$/,
);
const restarted = expect.stringMatching(
  /^Error: the node on the machine restarted .* the outcome is unknown$/,
);

describe("a call whose node disconnects", () => {
  it("ends after the grace period, and a later result is dropped", async () => {
    const callId = await commands.command();
    const { later } = commands.world.clock;
    await commands.end();
    expect(commands.world.clock.later - later).toBe(10_000);
    await commands.reconnect("one");
    expect(await answer(callId)).toEqual(dropped);
    expect(await result()).toEqual(left);
    expect(await answer(callId)).toEqual(dropped);
  });

  it("goes on if the same process connects again in time, also one that names none", async () => {
    for (const process of ["one", undefined]) {
      await commands.reconnect(process);
      const callId = await commands.command();
      inGrace(() => commands.reconnect(process));
      await commands.end();
      expect(await answer(callId)).toEqual(accepted);
      expect(await result()).toBe("made");
    }
  });

  it("ends if another process connects, because that has forgotten it", async () => {
    const callId = await commands.command();
    inGrace(() => commands.reconnect("two"));
    await commands.end();
    expect(await pending()).toEqual([]);
    expect(await answer(callId)).toEqual(dropped);
    expect(await result()).toEqual(restarted);
  });

  it("has the whole period after the last of several disconnects", async () => {
    const callId = await commands.command();
    let second = Promise.resolve();
    let over = () => {};
    const isOver = new Promise<void>((resolve) => {
      over = resolve;
    });
    inGrace(async () => {
      await commands.reconnect("one");
      const waits = new Promise<void>((resolve) => {
        inGrace(() => {
          resolve();
          return isOver;
        });
      });
      second = commands.end();
      await waits;
    });
    await commands.end();
    expect(await pending()).toHaveLength(1);
    await commands.reconnect("one");
    over();
    await second;
    expect(await answer(callId)).toEqual(accepted);
    expect(await result()).toBe("made");
  });

  it.each([
    ["the same process", "one", "made"],
    ["another process", "two", restarted],
  ])("whose socket was replaced by that of %s", async (_whose, process, shown) => {
    const callId = await commands.command();
    const old = commands.connection;
    await commands.world.sockets.close(old);
    await commands.reconnect(process);
    await commands.end(old);
    await answer(callId);
    expect(await result()).toEqual(shown);
  });

  it("keeps the result that arrives in the grace period", async () => {
    const callId = await commands.command();
    const { connection } = commands;
    inGrace(async () => {
      await commands.reconnect("one");
      await answer(callId);
      await commands.end();
    });
    await commands.end(connection);
    expect(await result()).toBe("made");
  });

  it("is not ended again after the user has stopped the run", async () => {
    await commands.command();
    const { sessionKey } = commands;
    inGrace(async () => {
      await requestStop(commands.state.table, sessionKey, "stop", commands.world.now());
      await commands.work();
    });
    await commands.end();
    expect(await result()).toContain("stopped by the user");
    expect((await commands.bench.state(sessionKey)).run).toBeUndefined();
  });

  it("ends if that happens while the agent sends the call", async () => {
    let isOver = false;
    const life = immortal();
    const before = async () => {
      if (isOver || (await readSession(commands.state.table, commands.sessionKey))?.run?.phase !== "tools")
        return;
      isOver = true;
      await commands.end();
    };
    commands.sessionKey = "agent:main:sent";
    const message = { id: "m", at: commands.world.now(), kind: "message", text: "build it" } as const;
    await commands.bench.submit(commands.sessionKey, { ...message, origin: { kind: "client" } });
    await commands.work({ ...life, before });
    expect(isOver).toBe(true);
    const texts = (await commands.messages()).map((one) => textOf(one));
    expect(texts.slice(-2)).toEqual([left, "it runs"]);
  });

  it("is not sent to another process when an agent's crash repeats it", async () => {
    await commands.command();
    await commands.world.sockets.close(commands.connection);
    await commands.reconnect("two");
    // The agent crashed before it released the session.
    await commands.state.table.update(metaKey(commands.sessionKey), [remove(["run", "sent"])]);
    const sent = commands.bench.posted.length;
    expect(await result()).toEqual(restarted);
    expect(commands.bench.posted.slice(sent).map(({ connectionId }) => connectionId)).not.toContain(
      commands.connection,
    );
  });

  it("does not end calls of other nodes, and without a call nothing waits", async () => {
    await commands.connect("other", "server", "three");
    await commands.command();
    const { later } = commands.world.clock;
    await commands.end("other");
    expect(commands.world.clock.later).toBe(later);
    expect(await pending()).toHaveLength(1);
  });
});
