import { createAgent } from "../../../functions/agent/agent-handler.ts";
import type { CallModel } from "../../../functions/agent/model/model-call.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { acceptResult } from "../../../functions/socket/calls/node-calls.ts";
import { createTimerHandler } from "../../../functions/timer/timer-handler.ts";
import { setLogOutput } from "../../../shared/runtime/log.ts";
import { submitEntry, submitMessage } from "../../../shared/session/intake.ts";
import { openFormatted } from "../../../shared/world/stored-format.ts";
import type { World } from "../../../shared/world/world.ts";

/** This release's code. */
export const present = {
  name: "present",
  ...{ createAgent, holdSession, createTimerHandler, acceptResult, submitEntry, submitMessage, setLogOutput },
  /** The world as the release's functions open it. */
  worldOf: (world: World): World => ({ ...world, table: openFormatted(world.table) }),
  /** A model whose answers have the form that the release expects. */
  modelOf: (callModel: CallModel): CallModel => callModel,
};

/** The code of one release. */
export type Release = typeof present;
