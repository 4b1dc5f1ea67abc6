import type { ObjectType, StaticRef } from "./objects.ts";

/** An object as a list shows it: its newest version, without its content. */
export interface ListedObject {
  id: string;
  type: ObjectType;
  locked: boolean;
  version_no: number;
  /** The time of the version; epoch ms. */
  at: number;
  /** Number of the message that made it; messages are counted from 1. */
  message: number;
  /** Fields of its type, such as `tool`, `args_display` and `status` of a call. */
  [field: string]: string | number | boolean | null;
}

export interface ObjectList {
  sessionKey: string;
  sessionId: string;
  /** The session, its prompt and its chat, then calls and files in the order in which they first occur. */
  objects: ListedObject[];
  /** How many there are in all, of the type that was asked for. */
  count: number;
}

/** A version as a history shows it. `parent_refs`: what it was made from, such as the call that wrote a file. */
export type ListedVersion = Omit<StaticRef, "id"> & { message: number; parent_refs?: string[] };

export interface ObjectHistory {
  id: string;
  type: ObjectType;
  /** The newest ones, oldest first. */
  versions: ListedVersion[];
  /** How many there are in all. */
  count: number;
}

export interface ObjectDiff {
  from: StaticRef;
  to: StaticRef;
  /** Whether the contents are the same. */
  same: boolean;
  /** The lines that differ, as `diff -u` writes them; empty when the contents are the same. */
  diff: string;
}
