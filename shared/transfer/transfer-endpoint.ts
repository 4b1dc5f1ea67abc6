import { basename } from "node:path/posix";
import { chooseNode } from "../peers/nodes.ts";
import type { PeerRecord } from "../peers/registry.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { transferCapability } from "../protocol/frames.ts";
import { checkNotInternal } from "../workspace/privacy.ts";
import { comparablePath, filePath, keyUnder, workspacePrefix } from "../workspace/workspace-paths.ts";

/** An endpoint of a transfer: a file of a machine, or of an agent's workspace. */
export type TransferEnd = MachineEnd | WorkspaceEnd;

/** A file of a node, or of the client that requested the transfer. */
export interface MachineEnd {
  kind: "node" | "client";
  /** The id of the node or client. */
  id: string;
  /** Resolved on that machine: absolute, relative to its home (`~/`), or relative to the node's workspace. */
  path: string;
}

export interface WorkspaceEnd {
  kind: "workspace";
  agentId: string;
  path: string;
}

/** The requested endpoints as texts, with the workspace and machine to which they refer. */
export interface AskedEnds {
  source: string;
  destination: string;
  /** The agent whose workspace `gsv:` means. */
  agentId: string;
  /** The client whose machine an endpoint without a name means; undefined when there is none. */
  clientId?: string;
}

/**
 * Parses `{nodeId}:/path`, `gsv:path` and, for a client, `:/path`. A destination that ends in `/` gets the source's name.
 * @throws PeerError 400 for an endpoint in another format, and for an invalid workspace path
 */
export function parseEnds(asked: AskedEnds): { source: TransferEnd; destination: TransferEnd } {
  const source = parseEnd("source", asked.source, asked);
  const name = basename(source.path);
  const to = /[:/]$/.test(asked.destination) ? `${asked.destination}${name}` : asked.destination;
  return { source, destination: parseEnd("destination", to, asked) };
}

function parseEnd(field: string, text: string, { agentId, clientId }: AskedEnds): TransferEnd {
  const at = text.indexOf(":");
  const [name, path] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 0 || path === "" || (name === "" && clientId === undefined)) {
    const message = `${field}: expected {nodeId}:/path or gsv:path, not ${JSON.stringify(text.slice(0, 200))}`;
    throw new PeerError(code.badRequest, message);
  }
  if (path.includes("\0") || !path.isWellFormed())
    throw new PeerError(code.badRequest, `${field}: the path must be Unicode without NUL`);
  if (name === "") return { kind: "client", id: clientId ?? "", path };
  if (name !== "gsv") return { kind: "node", id: name, path };
  const end = { kind: "workspace", agentId, path: filePath(path.replace(/^\/+/, "")) } as const;
  if (field === "destination" && comparablePath(end.path).startsWith("sessions/")) {
    const message = "destination: sessions/ contains session archives, which only the gateway writes";
    throw new PeerError(code.badRequest, message);
  }
  checkNotInternal(end.path);
  workspaceKey(end);
  return end;
}

/** The key of a workspace's file in the bucket. @throws PeerError 400 when it is too long */
export function workspaceKey({ agentId, path }: WorkspaceEnd): string {
  return keyUnder(workspacePrefix(agentId), path);
}

/** The endpoint as a user writes it. */
export function endText(end: TransferEnd): string {
  if (end.kind === "workspace") return `gsv:${end.path}`;
  return end.kind === "node" ? `${end.id}:${end.path}` : `:${end.path}`;
}

/** The name of an endpoint's machine in messages. */
export function endName(end: TransferEnd): string {
  if (end.kind === "workspace") return "the workspace";
  return end.kind === "node" ? end.id : "this machine";
}

/**
 * Checks that the nodes of a transfer are connected and support transfers.
 * @throws PeerError 503 for one that is not connected, 400 for one that did not announce the capability
 */
export function checkNodes(
  { source, destination }: { source: TransferEnd; destination: TransferEnd },
  nodes: readonly PeerRecord[],
): void {
  for (const end of [source, destination]) {
    if (end.kind !== "node") continue;
    const node = chooseNode(nodes, end.id);
    if (node.capabilities?.includes(transferCapability)) continue;
    const message = `the node ${end.id} cannot transfer files: it did not announce the capability "${transferCapability}"; update gsv there`;
    throw new PeerError(code.badRequest, message);
  }
}
