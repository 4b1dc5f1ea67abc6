import * as v from "valibot";

const line = v.pipe(v.string(), v.maxLength(2000));
const text = v.pipe(v.string(), v.maxLength(100_000));
const lines = v.pipe(v.array(line), v.maxLength(100));

/** What a message contains, besides files. `text` is in the sender's own words; nothing else is. */
const leaf = [
  v.object({ kind: v.literal("text"), text }),
  /**
   * A message that the sender quotes. `of`: it is the message of this conversation with this id, which the sender answers.
   * `by` and `in`: its writer and its conversation.
   */
  v.object({
    kind: v.literal("quote"),
    text: v.optional(text),
    of: v.optional(line),
    by: v.optional(line),
    in: v.optional(line),
  }),
  /** `details`: numbers, addresses and the like, each with what it is. */
  v.object({ kind: v.literal("contact"), name: v.optional(line), details: lines }),
  v.object({
    kind: v.literal("place"),
    name: v.optional(line),
    address: v.optional(line),
    latitude: v.optional(v.number()),
    longitude: v.optional(v.number()),
  }),
  v.object({ kind: v.literal("poll"), question: line, options: lines }),
  v.object({ kind: v.literal("order"), catalog: v.optional(line), items: lines }),
  v.object({ kind: v.literal("sticker"), emoji: v.optional(line), name: v.optional(line) }),
  /** `label`: the sender's words that it is behind. `preview`: what the page says of itself. */
  v.object({
    kind: v.literal("link"),
    url: v.optional(line),
    label: v.optional(line),
    preview: v.optional(text),
  }),
  /** Any other content, by the platform's name of it. `lines`: its values. */
  v.object({ kind: v.literal("other"), name: line, detail: v.optional(line), lines: v.optional(lines) }),
] as const;

const leafPart = v.variant("kind", leaf);

/** A message of somebody else, or an earlier one of the sender, that the sender passes on. */
const forward = v.object({
  kind: v.literal("forward"),
  /** The writer's name, and the id if the platform gives it. */
  from: v.optional(line),
  fromId: v.optional(line),
  /** When it was written, epoch ms. */
  at: v.optional(v.number()),
  parts: v.pipe(v.array(leafPart), v.maxLength(100)),
});

/** The other parts replace what the message with this id contained. `at`: when it was edited, epoch ms: a later edit has a later time. */
const edit = v.object({ kind: v.literal("edit"), at: v.pipe(v.number(), v.integer(), v.minValue(1)) });

/** The message belongs to the album with this id: the messages of an album are one message to the agent. */
const album = v.object({ kind: v.literal("album"), id: v.pipe(line, v.minLength(1)) });

/**
 * The sender's reaction to the message of this conversation with the id `of`. `removed`: it was taken back, and others may remain.
 * Without `emoji` there is none any more. A message with a reaction contains nothing else.
 */
const reaction = v.object({
  kind: v.literal("reaction"),
  of: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  emoji: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(64))),
  removed: v.optional(v.boolean()),
});

/** A part of a bridge's message. */
export const contentPart = v.variant("kind", [...leaf, forward, edit, album, reaction]);

export type LeafPart = v.InferOutput<typeof leafPart>;
export type WirePart = v.InferOutput<typeof contentPart>;
