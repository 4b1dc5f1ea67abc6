import type { Events } from "../../../shared/protocol/events.ts";
import type { Connection } from "../../gateway/connection.ts";
import type { LogBuffer } from "../log-buffer.ts";
import type { NodeCalls } from "../running-calls.ts";
import type { FileTransfers } from "../transfer/file-transfers.ts";

/** The parts of the node that event handlers use. */
export interface NodeParts {
  connection: Connection;
  calls: NodeCalls;
  logs: LogBuffer;
  transfers: FileTransfers;
  /** Environment of the commands. */
  environment: NodeJS.ProcessEnv;
}

/** Handles one event. The gateway's payload is not validated. A handler never throws. */
export type NodeEventHandler<E extends keyof Events> = (node: NodeParts, payload: Events[E]) => void;
