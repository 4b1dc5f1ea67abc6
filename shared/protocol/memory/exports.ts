import type { ImageBlock, TextBlock } from "../messages.ts";
import type { Turn } from "./objects.ts";

/** The formats of an export (docs/exports.md). */
export const exportFormats = ["pi", "turns", "openai", "anthropic", "nexo"] as const;

export type ExportFormat = (typeof exportFormats)[number];

/** The formats that can be imported: nothing is lost in them. */
export const importFormats = ["pi", "turns"] as const satisfies readonly ExportFormat[];

export type ImportFormat = (typeof importFormats)[number];

/** The first line of an export as turns. */
export interface SessionLine {
  type: "session";
  version: 1;
  /** The conversation's id. */
  id: string;
  agent_id: string;
  session_key?: string;
}

/** A turn of an export. */
export type TurnLine = { type: "turn" } & Turn;

/** The result of a call of an export; it stands behind the turn that names it. */
export interface CallLine {
  type: "toolcall";
  id: string;
  tool: string;
  args_display: string;
  status: "ok" | "fail";
  /** The text of the result; null when it has none. */
  content: string | null;
  /** The result as it was. */
  output: (TextBlock | ImageBlock)[];
  /** Epoch ms. */
  result_at: number;
}

/** A line of an export as turns. */
export type TurnsLine = SessionLine | TurnLine | CallLine;
