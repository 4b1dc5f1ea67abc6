import { createHash } from "node:crypto";
import * as v from "valibot";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { type CallAddress, encodeCallAddress } from "../../../../shared/session/call-address.ts";
import { beginTransfer } from "../../../../shared/transfer/transfer.ts";
import { checkNodes, parseEnds } from "../../../../shared/transfer/transfer-endpoint.ts";
import { checkReadable, checkWritable } from "../../../../shared/workspace/privacy.ts";
import { isSkillFile } from "../../../../shared/workspace/workspace-paths.ts";
import { nativeTool } from "./native-tool.ts";

const end = (description: string) =>
  v.pipe(v.string(), v.minLength(1), v.maxLength(4096), v.description(description));

export const transfer = nativeTool({
  name: "gsv__Transfer",
  description:
    "Copy one file between two machines (up to 5 GB), or between a machine and your workspace (up to 100 MB). " +
    "It replaces an existing file. Pack folders first.",
  arguments: {
    source: end("{nodeId}:/path, or gsv:path of your workspace"),
    destination: end("Likewise. A path ending in / gets the source's file name"),
  },
  repeatable: true,
  forGuests: false,
  asksNode: true,
  async run(args, { agent, turn, address }) {
    const { source, destination } = parseEnds({ ...args, agentId: turn.agentId });
    if (destination.kind === "workspace" && isSkillFile(destination.path))
      throw new PeerError(
        code.forbidden,
        "destination: write a SKILL.md with gsv__WriteFile, which checks it",
      );
    if (source.kind === "workspace") checkReadable(turn.audience, source.path);
    if (destination.kind === "workspace") checkWritable(turn.audience, destination.path);
    checkNodes({ source, destination }, turn.nodes);
    // A session waits for a node id. A transfer within the workspace has no node, so it waits for the gateway.
    const machine = [source, destination].find((one) => one.kind === "node");
    const nodeId = machine?.kind === "node" ? machine.id : "gsv";
    const owner = { kind: "call", address, nodeId } as const;
    const start = async () => {
      await beginTransfer(agent, {
        id: idOf(address),
        source,
        destination,
        owner,
        origins: [...turn.origins],
      });
      return undefined;
    };
    return { begin: { nodeId, start } };
  },
});

/** The id of a call's transfer. A call that is repeated after a crash continues the same transfer. */
function idOf(address: CallAddress): number {
  return createHash("sha256").update(encodeCallAddress(address)).digest().readUInt32BE();
}
