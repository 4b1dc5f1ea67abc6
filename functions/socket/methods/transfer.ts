import { randomBytes } from "node:crypto";
import { listPeers } from "../../../shared/peers/registry.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Method } from "../../../shared/protocol/methods.ts";
import { advance, beginTransfer, checkAlive, failTransfer } from "../../../shared/transfer/transfer.ts";
import { checkNodes, parseEnds, type TransferEnd } from "../../../shared/transfer/transfer-endpoint.ts";
import { statusOf } from "../../../shared/transfer/transfer-owner.ts";
import {
  givePart,
  type Reporter,
  reportAccept,
  reportComplete,
  reportDone,
  reportMeta,
} from "../../../shared/transfer/transfer-reports.ts";
import {
  changeTransfer,
  isOpen,
  lateness,
  listTransfers,
  readTransfer,
  type Transfer,
} from "../../../shared/transfer/transfer-state.ts";
import type { Caller, Gateway, MethodTable } from "../gateway.ts";
import { agentOf } from "./workspace.ts";

/** The machine of a connection. */
const reporterOf = ({ mode, peerId }: Caller): Reporter => ({ mode, id: peerId });

/** @throws PeerError 404 for a transfer that another token started */
async function ownTransfer(gateway: Gateway, id: number, { tokenId }: Caller): Promise<Transfer> {
  const transfer = await readTransfer(gateway.table, id, gateway.now());
  if (transfer?.owner.kind === "client" && transfer.owner.tokenId === tokenId) return transfer;
  throw new PeerError(code.notFound, "no such transfer");
}

type Ends = Pick<Transfer, "source" | "destination">;

/**
 * Finds the open transfer between these ends that a client of the same token started, so that a repeated command resumes
 * it. The new client replaces the former one.
 */
async function claimTransfer(
  { table, now }: Gateway,
  tokenId: string,
  ends: Ends,
): Promise<Transfer | undefined> {
  const anyClient = (end: TransferEnd) => (end.kind === "client" ? { ...end, id: "" } : end);
  const textOf = ({ source, destination }: Ends) =>
    JSON.stringify([anyClient(source), anyClient(destination)]);
  const wanted = textOf(ends);
  const open = (await listTransfers(table, now())).find(
    (one) =>
      one.owner.kind === "client" &&
      one.owner.tokenId === tokenId &&
      isOpen(one) &&
      !lateness(one, now()) &&
      textOf(one) === wanted,
  );
  const { source, destination } = ends;
  const claimed = open && (await changeTransfer(table, open, { source, destination }, now()));
  return claimed && isOpen(claimed) ? claimed : undefined;
}

type TransferMethod = Extract<Method, `transfer.${string}`>;

/**
 * The method of a machine's report. As in GSV, a report that changes nothing is answered with `ok` too, because machines
 * repeat refused reports. Only a report without a transfer is refused, with GSV's error text.
 */
function report<Body>(
  accept: (gateway: Gateway, reporter: Reporter, id: number, body: Body) => Promise<void>,
) {
  return {
    modes: ["node", "client"] as const,
    async handle(gateway: Gateway, body: Body & { transferId?: number }, { caller }: { caller: Caller }) {
      const { transferId } = body;
      if (transferId === undefined) throw new PeerError(code.badRequest, "transferId required");
      await accept(gateway, reporterOf(caller), transferId, body);
      return { ok: true as const };
    },
  };
}

export const transferMethods: Pick<MethodTable, TransferMethod> = {
  "transfer.open": {
    modes: ["client"],
    async handle(gateway, { source, destination, agentId }, { caller }) {
      const agent = await agentOf(gateway, agentId);
      const ends = parseEnds({ source, destination, agentId: agent, clientId: caller.peerId });
      const open = await claimTransfer(gateway, caller.tokenId, ends);
      if (open) return statusOf(await advance(gateway, open));
      checkNodes(ends, await listPeers(gateway.table, "node", gateway.now()));
      const owner = { kind: "client", tokenId: caller.tokenId } as const;
      return statusOf(await beginTransfer(gateway, { id: randomBytes(4).readUInt32BE(), ...ends, owner }));
    },
  },
  "transfer.status": {
    modes: ["client"],
    async handle(gateway, { transferId }, { caller }) {
      return statusOf(await checkAlive(gateway, await ownTransfer(gateway, transferId, caller)));
    },
  },
  "transfer.cancel": {
    modes: ["client"],
    async handle(gateway, { transferId }, { caller }) {
      return statusOf(
        await failTransfer(gateway, await ownTransfer(gateway, transferId, caller), "cancelled"),
      );
    },
  },
  "transfer.part": {
    modes: ["node", "client"],
    handle: async (gateway, { transferId, part }, { caller }) =>
      givePart(gateway, reporterOf(caller), transferId, part),
  },
  "transfer.meta": report(reportMeta),
  "transfer.accept": report((gateway, reporter, id, { error }: { error?: string }) =>
    reportAccept(gateway, reporter, id, error),
  ),
  "transfer.complete": report(reportComplete),
  "transfer.done": report(reportDone),
};

export const payloadMethods: Pick<MethodTable, "payload.upload"> = {
  "payload.upload": {
    modes: ["client", "node", "channel"],
    handle: async ({ payloads }, { bytes, kind }, { caller }) =>
      payloads.reserve(caller.connectionId, bytes, kind),
  },
};
