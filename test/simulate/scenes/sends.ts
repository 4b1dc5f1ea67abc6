import { textOf, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { submitMessage } from "../../../shared/session/intake.ts";
import type { World } from "../../../shared/world/world.ts";
import type { SceneAction } from "../load/actions.ts";
import { answerTo, noTools, readScript, textOfScript } from "../load/script.ts";
import type { Scene, Stage } from "./scene.ts";

/** In the settings of a schedule: runs that one message may start in other sessions (`session.sendLimit`). */
export const maxSends = 2;

/** The agent that a client writes to. */
export const sendActions = ["main", "b", "c"];

/** The result of a send, as the model reads it. */
interface Told {
  ok: boolean;
  error?: string;
  result?: { status: string; reply?: string };
}

/** Three agents whose messages make them send messages to each other, with and without waiting for the answer. */
export function createSends(stage: Stage): Scene {
  const { ledger, peers, faults } = stage;
  const roots: number[] = [];
  /** How many accepted messages have a number, by the number. */
  const counts = () => {
    const found = new Map<number, number>();
    for (const { entry } of ledger.entries.values()) {
      const number = entry.kind === "message" ? readScript(entry.text)?.number : undefined;
      if (number !== undefined) found.set(number, (found.get(number) ?? 0) + 1);
    }
    return found;
  };
  return {
    async prepare() {},
    async perform({ does, value }: SceneAction, id: string) {
      const number = 100 + roots.length;
      roots.push(number);
      const [sends, hops] = [1 + (value % 3), value % 4];
      const usual = { ...noTools, fails: value % 11 === 0 ? 1 : 0 };
      const text = textOfScript({ ...usual, number, ms: value * 5, sends, hops });
      const origin = { kind: "client", connectionId: "c-1", requestId: id } as const;
      const incoming = { id, text, origin, writer: {} };
      const submit = (world: World) => submitMessage(peers.intakeOf(world), `agent:${does}:main`, incoming);
      if (await peers.insist(id, submit)) ledger.acknowledged.add(id);
    },
    written() {},
    async calm() {},
    isQuiet: () => true,
    async rest() {
      const sent = counts();
      for (const [number, count] of sent)
        if (count > 1) ledger.fault(`q${number} was delivered ${count} times`);
      for (const root of roots) {
        const started = [...sent.keys()].filter(
          (number) => number !== root && `${number}`.startsWith(`${root}`),
        );
        if (started.length > maxSends) ledger.fault(`q${root} started ${started.length} runs`);
      }
      for (const messages of ledger.said.values()) {
        const asked = messages.flatMap(toolCallsOf).filter(({ name }) => name === "gsv__SessionSend");
        for (const { id, arguments: given } of asked) {
          const result = messages.find((one) => one.role === "toolResult" && one.toolCallId === id);
          const number = readScript(String((given as { message?: unknown }).message))?.number ?? 0;
          if (result)
            for (const one of resultFaults(number, textOf(result), sent, faults.total > 0)) ledger.fault(one);
        }
      }
    },
  };
}

/** What a model reads of a send is true. */
function resultFaults(
  number: number,
  text: string,
  sent: ReadonlyMap<number, number>,
  hasFaults: boolean,
): string[] {
  const told = toldIn(text);
  const isSent = sent.has(number);
  // A sender that dies before it sends leaves a call that times out.
  const isUnknown = told?.result?.status === "timeout" && hasFaults;
  if (told?.ok && !isSent && !isUnknown)
    return [`q${number} is ${told.result?.status}, but was not delivered`];
  const { reply } = told?.result ?? {};
  if (reply !== undefined && reply !== answerTo(number)) return [`q${number} was answered "${reply}"`];
  const isRefused = told?.ok === false && !told.error?.includes("has not answered");
  return isRefused && isSent ? [`q${number} was delivered, but its sender reads "${told.error}"`] : [];
}

function toldIn(text: string): Told | undefined {
  try {
    return JSON.parse(text) as Told;
  } catch {
    return undefined;
  }
}
