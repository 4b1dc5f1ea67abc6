import type { Random } from "../../support/random.ts";
import type { Script } from "./script.ts";

/** How a user sends. */
export type Via = "client" | "platform" | "bridge";

/** One action of a schedule. */
export type Action = UserAction | SceneAction;

/** One action of a user. `at`: milliseconds after the start. */
export type UserAction = { at: number; via: Via; session: string } & (
  | { kind: "message"; script: Script; hasImage: boolean }
  | { kind: "stop" }
  | { kind: "reset" }
  | { kind: "compact"; keep: number }
  | { kind: "activate" | "deactivate" | "pin"; object: string }
);

/** An action of a scene. `value` chooses what it is about. `at`: milliseconds after the start. */
export interface SceneAction {
  kind: "scene";
  at: number;
  scene: string;
  does: string;
  value: number;
}

/** Text of an action, for a trace. */
export function describeAction(action: Action): string {
  if (action.kind === "scene") return `+${action.at} ms: ${action.scene}: ${action.does} ${action.value}`;
  const what =
    action.kind === "message" ? `${action.script.number}${action.hasImage ? " with an image" : ""}` : "";
  return `+${action.at} ms: ${action.kind} ${what} from the ${action.via} to ${action.session}`;
}

/** Draws the actions of one schedule: usually in quick succession, sometimes after a pause. */
export function drawActions(random: Random, max: number): UserAction[] {
  const actions: UserAction[] = [];
  const chance = (oneIn: number) => random.integer(oneIn) === 0;
  const count = 1 + random.integer(max);
  const rest = chance(3) ? 200_000 : 20_000;
  let at = 0;
  for (let number = 1; number <= count; number++) {
    at += chance(4) ? random.integer(rest) : random.integer(1_500);
    const via: Via = chance(3) ? random.pick(["platform", "bridge"] as const) : "client";
    const session = via === "client" && chance(5) ? "other" : "main";
    const about = { at, via, session };
    const kind = random.integer(12);
    if (kind <= 1 && number > 1) actions.push({ ...about, kind: "stop" });
    else if (kind === 2) actions.push({ ...about, kind: "reset" });
    else if (kind === 3) actions.push({ ...about, kind: "compact", keep: 1 + random.integer(3) });
    else if (kind === 4 && via === "client" && number > 1) {
      const does = random.pick(["activate", "deactivate", "pin"] as const);
      actions.push({ ...about, kind: does, object: `file:gsv:notes/q${1 + random.integer(number - 1)}.md` });
    } else {
      const script = drawScript(random, number);
      actions.push({ ...about, kind: "message", script, hasImage: via !== "platform" && chance(5) });
    }
  }
  return actions;
}

function drawScript(random: Random, number: number): Script {
  const chance = (oneIn: number) => random.integer(oneIn) === 0;
  const rounds = chance(3) ? 1 + random.integer(2) : 0;
  return {
    number,
    rounds,
    node: rounds > 0 ? random.integer(3) : 0,
    native: rounds > 0 ? random.integer(3) : 0,
    fails: chance(15) ? 1 : 0,
    refuses: chance(10) ? 1 : 0,
    ms: chance(4) ? 1_000 + random.integer(8_000) : 50 + random.integer(600),
  };
}
