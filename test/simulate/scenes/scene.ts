import type { Frame } from "../../../shared/protocol/frames.ts";
import type { Item, Key } from "../../../shared/world/world.ts";
import type { Random } from "../../support/random.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { SceneAction } from "../load/actions.ts";
import type { Peers } from "../load/peers.ts";
import type { Ledger } from "../verdict/ledger.ts";
import type { Cloud } from "../world/cloud.ts";
import type { Faults } from "../world/faults.ts";
import type { Sent } from "../world/platform.ts";

/** The surroundings of a scene. */
export interface Stage {
  timeline: Timeline;
  cloud: Cloud;
  ledger: Ledger;
  faults: Faults;
  peers: Peers;
  /** Messages that arrived at platforms and bridges. */
  sent: Sent;
}

/** A write of an item. */
export interface Write {
  key: Key;
  before: Item | undefined;
  after: Item | undefined;
  /** The machine that wrote. A machine for a request is named after it: `{request}/{number}`. */
  writer: string;
}

/** A message that the agent begins to send on the platform. `to`: the receiver's id there. */
export interface Delivery {
  id: string;
  to: string;
}

/** What happens besides conversations: people's actions, and the rules for the items that they change. */
export interface Scene {
  /** Creates what is there before the first action. */
  prepare(): Promise<void>;
  /** Performs an action. @param id the same at every attempt of its request */
  perform(action: SceneAction, id: string): Promise<void>;
  /** Checks a write. */
  written(write: Write): void;
  /** Checks a delivery. */
  delivers?(delivery: Delivery): void;
  /** Handles a frame that reached a connection. */
  posted?(connectionId: string, frame: Frame): void;
  /** Ends what would go on forever, once there are no more faults. */
  calm(): Promise<void>;
  /** Whether no work is left. */
  isQuiet(): boolean;
  /** Checks everything at the end. */
  rest(): Promise<void>;
}

/** Draws up to six actions, within a few minutes. @param does the names of the actions, the frequent ones repeatedly */
export function drawScene(random: Random, scene: string, does: readonly string[]): SceneAction[] {
  const count = 1 + random.integer(6);
  const within = random.pick([10_000, 90_000, 240_000]);
  return Array.from({ length: count }, () => ({
    ...{ kind: "scene" as const, at: random.integer(within), scene },
    ...{ does: random.pick(does), value: random.integer(1000) },
  }));
}
