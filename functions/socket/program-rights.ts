import { guestOrigin } from "../../shared/origins/origins.ts";
import type { NodeTool } from "../../shared/peers/nodes.ts";
import type { MissingScope } from "../../shared/protocol/errors.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import type { Writer } from "../../shared/session/inbox-entry.ts";
import { defaultAgentId, keyRules } from "../../shared/session/key/routing.ts";
import { canonicalizeSessionKey, guestKind } from "../../shared/session/key/session-key.ts";
import type { Caller, Gateway } from "./gateway.ts";

/** The scopes of a program that acts for the owner. */
const ownerScopes: readonly Scope[] = ["mcp:nodes", "client", "admin"];

type Program = Pick<Caller, "mode" | "scopes" | "tokenId">;

/** Whether a caller may use the tools of nodes: in the mode `mcp`, only with the scope for them. */
export function mayUseNodes({ mode, scopes }: Program): boolean {
  return mode !== "mcp" || ownerScopes.some((scope) => scopes.includes(scope));
}

/**
 * The session of a caller. A client names any. A program has its own: one with the owner's rights a named session, any other a
 * guest's conversation.
 */
export async function sessionOf(
  { configuration }: Pick<Gateway, "configuration">,
  caller: Program,
  name: string,
): Promise<string> {
  const loaded = await configuration.load();
  const rules = keyRules(loaded);
  if (caller.mode !== "mcp") return canonicalizeSessionKey(name, rules);
  const agent = `agent:${defaultAgentId(loaded.agents.list)}`;
  const own = name.replaceAll(":", "-");
  const key = mayUseNodes(caller)
    ? `${agent}:mcp-${own}`
    : `${agent}:mcp:${guestKind}:${caller.tokenId}.${own}`;
  return canonicalizeSessionKey(key, rules);
}

/** Who writes a caller's message. What a program writes may be words of others, also if it has the owner's rights. */
export function writerOf(caller: Program): { writer: Writer; origins?: string[] } {
  if (caller.mode !== "mcp") return { writer: {} };
  if (!mayUseNodes(caller)) return { writer: { role: "guest", senderId: caller.tokenId } };
  return { writer: {}, origins: [guestOrigin("mcp", caller.tokenId)] };
}

/**
 * Checks the call of a node's tool that a program makes itself, for which the owner has given it the scope. The rules and modes
 * for the agent's calls apply; nobody is asked.
 * @throws PeerError 403
 */
export async function checkProgramCall(
  { configuration }: Pick<Gateway, "configuration">,
  caller: Program,
  { definition, node, bareName }: NodeTool,
  args: Record<string, unknown>,
): Promise<void> {
  if (caller.mode !== "mcp") return;
  const { judge, policyOf } = await import("../../shared/approvals/policy.ts");
  const loaded = await configuration.load();
  const policy = policyOf(loaded, defaultAgentId(loaded.agents.list));
  const call = { tool: definition.name, node: node.id, bareName, args };
  const { decision, why } = await judge(policy, call, [], async () => undefined);
  if (decision === "allow") return;
  const message =
    decision === "deny"
      ? `denied by policy: ${why}`
      : `its owner must be asked before: ${why}. Tell the agent to do it (tool ask): it asks the owner`;
  throw new PeerError(code.forbidden, message);
}

/** @throws PeerError 403 for a program without the scope for nodes */
export function checkNodeScope(caller: Program): void {
  if (mayUseNodes(caller)) return;
  const scope = "mcp:nodes";
  const details = { scope } satisfies MissingScope;
  throw new PeerError(code.forbidden, `the tools of nodes need a token with the scope ${scope}`, { details });
}
