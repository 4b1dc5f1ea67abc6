import type { Message } from "../protocol/messages.ts";

/** A conversation that is exported. */
export interface ExportedConversation {
  agentId: string;
  sessionId: string;
  /** Absent when nothing names it: an archive without metadata. */
  sessionKey?: string;
  /** All messages, in order. */
  messages: readonly Message[];
  /** The parts that compactions archived: when (epoch ms), and how many messages stand before its end. */
  parts: readonly { at: number; messages: number }[];
}

/** Writes a conversation in a form that another program reads. @returns values, one for each line of JSON */
export type Adapter = (conversation: ExportedConversation) => Iterable<object>;
