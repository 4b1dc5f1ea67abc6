import type { CommandEntry } from "../app/program.ts";
import { agentCommand } from "./agent/agent-command-table.ts";
import { channelCommand, pairCommand } from "./channel/channel-command-table.ts";
import { cronCommand } from "./cron/cron-command-table.ts";
import { heartbeatCommand } from "./heartbeat/heartbeat-command-table.ts";
import { logsCommand } from "./logs/logs-command-table.ts";
import { memoryCommand } from "./memory/memory-command-table.ts";
import { nodeCommand, toolsCommand } from "./node/node-command-table.ts";
import { objectCommand } from "./object/object-command-table.ts";
import { completionCommand, doctorCommand, upgradeCommand } from "./program/program-command-table.ts";
import { clientCommand, searchCommand, sessionCommand } from "./session/session-command-table.ts";
import {
  configCommand,
  deployCommand,
  devCommand,
  initCommand,
  localConfigCommand,
  statusCommand,
  tokenCommand,
} from "./setup/setup-command-table.ts";
import { skillsCommand } from "./skills/skills-command-table.ts";
import { copyCommand } from "./transfer/transfer-command-table.ts";
import { workspaceCommand } from "./workspace/workspace-command-table.ts";

/** Every command of `gsv`, in the order of its help. Each folder of commands has its own table. */
export const commands: readonly CommandEntry[] = [
  clientCommand,
  nodeCommand,
  devCommand,
  configCommand,
  sessionCommand,
  objectCommand,
  searchCommand,
  toolsCommand,
  workspaceCommand,
  memoryCommand,
  copyCommand,
  agentCommand,
  skillsCommand,
  heartbeatCommand,
  cronCommand,
  tokenCommand,
  channelCommand,
  pairCommand,
  logsCommand,
  deployCommand,
  statusCommand,
  initCommand,
  localConfigCommand,
  doctorCommand,
  upgradeCommand,
  completionCommand(() => commands),
];
