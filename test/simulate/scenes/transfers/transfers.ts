import { transferMethods } from "../../../../functions/socket/methods/transfer.ts";
import type { Events } from "../../../../shared/protocol/events.ts";
import { textOf, toolCallsOf } from "../../../../shared/protocol/messages.ts";
import type { TransferStatus } from "../../../../shared/protocol/results.ts";
import { submitMessage } from "../../../../shared/session/intake.ts";
import { beginTransfer } from "../../../../shared/transfer/transfer.ts";
import { parseEnds } from "../../../../shared/transfer/transfer-endpoint.ts";
import { transferPartKey } from "../../../../shared/transfer/transfer-parts.ts";
import { isOpen, type Transfer } from "../../../../shared/transfer/transfer-state.ts";
import type { World } from "../../../../shared/world/world.ts";
import type { SceneAction } from "../../load/actions.ts";
import { clientCopies } from "../../load/copies.ts";
import { textOfScript } from "../../load/script.ts";
import { gatewayOf } from "../gateway.ts";
import type { Scene, Stage, Write } from "../scene.ts";
import { createMachine, type FileMachine, type TransferEvent } from "./machine.ts";

export const transferActions = ["copy", "copy", "copy", "edit", "edit", "cancel", "ask"];

/** Small parts, so that a short text has several. */
const partBytes = 16;

const agentId = "main";
const caller = { mode: "client", peerId: "c", tokenId: "simulated" } as const;
const files = ["gsv:files/a", "gsv:files/b", "n:/a", ":/c"];

/** A client and the agent copy files between machines and the workspace, while people edit them and cancel. */
export function createTransfers(stage: Stage): Scene {
  const { ledger, peers, timeline, cloud } = stage;
  const machines: Record<string, FileMachine> = {
    "n-1": createMachine(stage, "node", "n"),
    "c-1": createMachine(stage, "client", "c"),
  };
  /** Every text that a file had as a whole. All have the same length: a machine does not notice that a file changed. */
  const texts = new Set<string>();
  /** Transfers that the client follows. */
  const followed = new Set<number>();
  let [copies, messages] = [0, 0];
  const fault = (what: string) => ledger.fault(`transfers: ${what}`);
  const fileOf = (end: string) => {
    const [name, path = ""] = end.split(":");
    const machine = machines[name === "n" ? "n-1" : "c-1"];
    return name === "gsv" ? cloud.bucket.peek(`agents/${agentId}/${path}`) : machine?.files.get(path);
  };
  const edit = async (end: string, id: string) => {
    const [name, path = ""] = end.split(":");
    const text = `${end} ${id} `.repeat(8).slice(0, 60);
    texts.add(text);
    if (name === "gsv") await cloud.bucket.put(`agents/${agentId}/${path}`, text);
    else machines[name === "n" ? "n-1" : "c-1"]?.files.set(path, text);
  };
  const transfers = () => [...cloud.store.range({ pk: "TRANSFER" })] as unknown as Transfer[];
  /** Asks for the status until the transfer has ended. */
  const follow = async (transferId: number) => {
    followed.add(transferId);
    for (let isRunning = true; isRunning; ) {
      await timeline.pass(5_000 + timeline.jitter(10_000));
      let told: TransferStatus | undefined;
      await peers.insist(`status-${transferId}`, async (world) => {
        const { handle } = transferMethods["transfer.status"];
        told = (await handle(gatewayOf(world), { transferId }, { caller } as never)) as TransferStatus;
      });
      isRunning = told === undefined || told.status === "running";
    }
    followed.delete(transferId);
  };
  const copy = async (id: string, value: number) => {
    const transferId = ++copies;
    const asked = clientCopies[value % clientCopies.length];
    if (!asked) return;
    const ends = parseEnds({ ...asked, agentId, clientId: caller.peerId });
    const owner = { kind: "client", tokenId: caller.tokenId } as const;
    const begin = (world: World) =>
      beginTransfer(gatewayOf(world), { id: transferId, ...ends, owner, partBytes });
    if (await peers.insist(id, begin)) void follow(transferId);
  };
  const askAgent = async (id: string, value: number) => {
    const number = 400 + messages++;
    const script = { number, rounds: 1 + (value % 2), node: 0, native: 0, fails: 0, refuses: 0, ms: 200 };
    const origin = { kind: "client", connectionId: "c-1", requestId: id } as const;
    const incoming = { id, text: textOfScript({ ...script, copies: 1 }), origin, writer: {} };
    const submit = (world: World) => submitMessage(peers.intakeOf(world), "agent:main:other", incoming);
    if (await peers.insist(id, submit)) ledger.acknowledged.add(id);
  };
  return {
    async prepare() {
      for (const end of files) await edit(end, "first");
    },
    async perform({ does, value }: SceneAction, id: string) {
      if (does === "copy") await copy(id, value);
      else if (does === "edit") await edit(files[value % files.length] ?? "", id);
      else if (does === "ask") await askAgent(id, value);
      else if (copies > 0)
        await peers.insist(id, async (world) => {
          const params = { transferId: 1 + (value % copies) };
          const { handle } = transferMethods["transfer.cancel"];
          if (cloud.store.get({ pk: "TRANSFER", sk: String(params.transferId).padStart(10, "0") }))
            await handle(gatewayOf(world), params, { caller } as never);
        });
    },
    posted(connectionId, frame) {
      if (frame.type !== "evt" || !frame.event.startsWith("transfer.")) return;
      machines[connectionId]?.handle(frame.event as TransferEvent, frame.payload as Events[TransferEvent]);
    },
    written({ key, before, after }: Write) {
      if (key.pk !== "TRANSFER" || !before || !after) return;
      const [was, is] = [before as unknown as Transfer, after as unknown as Transfer];
      if (!isOpen(was) && is.step !== was.step) fault(`${was.id} was ${was.step} and then ${is.step}`);
    },
    async calm() {
      // A transfer whose call has ended is only given up when one of its machines connects again.
      do {
        for (const machine of Object.values(machines)) await machine.connect();
        await timeline.pass(60_000);
      } while (transfers().some(isOpen));
    },
    isQuiet: () => followed.size === 0 && transfers().every((one) => !isOpen(one)),
    async rest() {
      const { faults } = stage;
      for (const one of transfers()) if (isOpen(one)) fault(`${one.id} has not ended`);
      for (const { source, destination } of clientCopies)
        for (const end of [source, destination]) {
          const text = fileOf(end);
          if (text !== undefined && !texts.has(text)) fault(`${end} is not whole: ${text}`);
        }
      for (const one of transfers())
        if (one.step === "done" && fileOf(nameOf(one.destination)) === undefined)
          fault(`${one.id} is done, but its file is missing`);
      for (const { id, step } of transfers())
        if (faults.total === 0 && step === "done")
          for (const key of cloud.bucket.keys())
            if (key.startsWith(transferPartKey(id, 0).slice(0, -1))) fault(`${key} is left`);
      for (const messages of ledger.said.values())
        for (const { id } of messages.flatMap(toolCallsOf).filter(({ name }) => name === "gsv__Transfer")) {
          const result = messages.find((one) => one.role === "toolResult" && one.toolCallId === id);
          if (result && faults.total === 0 && !/"ok":true|stopped by the user/.test(textOf(result)))
            fault(`the agent reads ${textOf(result)}`);
        }
    },
  };
}

function nameOf(end: Transfer["destination"]): string {
  return `${end.kind === "workspace" ? "gsv" : end.kind === "node" ? "n" : ""}:${end.path}`;
}
