import type { Role } from "../../protocol/channel-accounts.ts";
import { type IdentityLinks, isSameSender } from "./identity.ts";
import {
  buildAgentSessionKey,
  type DmScope,
  guestKind,
  type KeyRules,
  normalizeAccountId,
  normalizeAgentId,
  normalizeChannel,
  normalizePeerKind,
} from "./session-key.ts";

/** The fields of the configuration that routing reads. */
export interface RoutingConfiguration {
  session: { mainKey: string; dmScope: DmScope; identityLinks: IdentityLinks };
  agents: {
    list: readonly { id: string; default?: boolean }[];
    bindings: readonly Binding[];
  };
  channels?: Readonly<
    Record<string, { accounts?: Readonly<Record<string, { agentId?: string }>> } | undefined>
  >;
}

/**
 * Assigns messages to an agent. A message must match every given field; a match without fields matches every
 * message.
 */
export interface Binding {
  agentId: string;
  match: { channel?: string; accountId?: string; peer?: { kind?: string; id?: string } };
}

/** An inbound message, as far as routing needs it: channel, account, conversation and sender. */
export interface Inbound {
  channel: string;
  accountId?: string;
  peer: { kind: string; id: string };
  sender?: { id: string };
}

/** The agent of keys without an agent id: the agent marked default, else `main`. */
export function defaultAgentId(list: RoutingConfiguration["agents"]["list"]): string {
  return normalizeAgentId(list.find((agent) => agent.default)?.id);
}

/** The rules for session keys, taken from the configuration. */
export function keyRules({ session, agents }: RoutingConfiguration): KeyRules {
  return { mainKey: session.mainKey, dmScope: session.dmScope, defaultAgentId: defaultAgentId(agents.list) };
}

/**
 * The agent and the session of an inbound message. The agent comes from the first matching binding, else from
 * the account, else it is the default agent. For a direct message both the conversation's id and the sender's
 * id are looked up in the identity links, because on some channels (Slack, Discord) the conversation's id
 * names a room, not a person. A guest's direct messages have a session of their own, by the guest's id: no
 * `dmScope` and no identity link leads into a conversation of somebody else.
 */
export function routeInbound(
  inbound: Inbound,
  configuration: RoutingConfiguration,
  role: Role,
): { agentId: string; sessionKey: string } {
  const { session, agents } = configuration;
  const bound = agents.bindings.find(({ match }) => isMatch(match, inbound))?.agentId;
  const agentId = normalizeAgentId(
    bound ?? accountAgent(inbound, configuration) ?? defaultAgentId(agents.list),
  );
  if (role === "guest" && normalizePeerKind(inbound.peer.kind) === "dm")
    return { agentId, sessionKey: guestSessionKey(agentId, inbound, session.dmScope) };
  const sessionKey = buildAgentSessionKey({
    agentId,
    channel: inbound.channel,
    accountId: inbound.accountId,
    peer: inbound.peer,
    senderId: inbound.sender?.id,
    identityLinks: session.identityLinks,
    mainKey: session.mainKey,
    dmScope: session.dmScope,
  });
  return { agentId, sessionKey };
}

function guestSessionKey(
  agentId: string,
  { channel, accountId, peer, sender }: Inbound,
  dmScope: DmScope,
): string {
  const account = dmScope === "per-account-channel-peer" ? { accountId: normalizeAccountId(accountId) } : {};
  return buildAgentSessionKey({
    ...{ agentId, channel, ...account },
    peer: { kind: guestKind, id: sender?.id ?? peer.id },
  });
}

function isMatch(match: Binding["match"], inbound: Inbound): boolean {
  const { channel, accountId, peer } = match;
  if (channel !== undefined && normalizeChannel(channel) !== normalizeChannel(inbound.channel)) return false;
  if (accountId !== undefined && normalizeAccountId(accountId) !== normalizeAccountId(inbound.accountId))
    return false;
  if (peer?.kind !== undefined && normalizePeerKind(peer.kind) !== normalizePeerKind(inbound.peer.kind))
    return false;
  return peer?.id === undefined || isSameSender(normalizeChannel(inbound.channel), peer.id, inbound.peer.id);
}

function accountAgent(inbound: Inbound, { channels = {} }: RoutingConfiguration): string | undefined {
  const channel = normalizeChannel(inbound.channel);
  const accounts = Object.hasOwn(channels, channel) ? channels[channel]?.accounts : undefined;
  const accountId = normalizeAccountId(inbound.accountId);
  return accounts && Object.hasOwn(accounts, accountId) ? accounts[accountId]?.agentId : undefined;
}
