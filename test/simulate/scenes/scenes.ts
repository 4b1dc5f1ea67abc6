import type { Random } from "../../support/random.ts";
import type { SceneAction } from "../load/actions.ts";
import { beatActions, createBeats } from "./beats.ts";
import { createEdits, editActions } from "./edits.ts";
import { createJobs, jobActions } from "./jobs/jobs.ts";
import { createMemories, memoryActions } from "./memories.ts";
import { createOwners, ownerActions } from "./owners.ts";
import { createRestores, restoreActions } from "./restores.ts";
import { drawScene, type Scene, type Stage } from "./scene.ts";
import { createSends, sendActions } from "./sends.ts";
import { createTransfers, transferActions } from "./transfers/transfers.ts";

/** Each scene: what people do in it, and how it is made. */
const scenes: Record<string, { does: readonly string[]; create(stage: Stage): Scene }> = {
  jobs: { does: jobActions, create: createJobs },
  sends: { does: sendActions, create: createSends },
  beats: { does: beatActions, create: createBeats },
  memories: { does: memoryActions, create: createMemories },
  restores: { does: restoreActions, create: createRestores },
  owners: { does: ownerActions, create: createOwners },
  edits: { does: editActions, create: createEdits },
  transfers: { does: transferActions, create: createTransfers },
};

/** Draws the actions of one scene. */
export function drawSceneOf(name: string, random: Random): SceneAction[] {
  return drawScene(random, name, scenes[name]?.does ?? []);
}

/** Draws the scenes of one schedule, each with its actions: often none. */
export function drawScenes(random: Random): SceneAction[] {
  return Object.keys(scenes).flatMap((name) => (random.integer(6) === 0 ? drawSceneOf(name, random) : []));
}

/** Creates the scenes that have an action, by name. */
export function createScenes(actions: readonly { kind: string; scene?: string }[], stage: Stage) {
  const names = new Set(actions.flatMap(({ kind, scene }) => (kind === "scene" && scene ? [scene] : [])));
  return new Map(
    [...names].flatMap((name): [string, Scene][] => {
      const scene = scenes[name];
      return scene ? [[name, scene.create(stage)]] : [];
    }),
  );
}
