import type { CommandEntry } from "../app/program.ts";
import { agentCommand, heartbeatCommand, memoryCommand } from "./agent/agent-command-table.ts";
import { approvalsCommand } from "./approvals/approvals-command-table.ts";
import { bridgeCommand } from "./bridge/bridge-command-table.ts";
import { channelCommand, pairCommand } from "./channel/channel-command-table.ts";
import { cronCommand } from "./cron/cron-command-table.ts";
import { mcpCommand } from "./mcp/mcp-command-table.ts";
import { copyCommand, nodeCommand, toolsCommand } from "./node/node-command-table.ts";
import {
  completionCommand,
  doctorCommand,
  logsCommand,
  upgradeCommand,
} from "./program/program-command-table.ts";
import { objectCommand } from "./session/object-command-table.ts";
import { clientCommand, searchCommand, sessionCommand } from "./session/session-command-table.ts";
import {
  adminCommand,
  configCommand,
  deployCommand,
  devCommand,
  initCommand,
  localConfigCommand,
  openCommand,
  statusCommand,
  tokenCommand,
} from "./setup/setup-command-table.ts";
import { skillsCommand } from "./skills/skills-command-table.ts";
import { budgetCommand, usageCommand } from "./usage/usage-command-table.ts";
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
  mcpCommand,
  heartbeatCommand,
  cronCommand,
  approvalsCommand,
  usageCommand,
  budgetCommand,
  openCommand,
  tokenCommand,
  adminCommand,
  channelCommand,
  pairCommand,
  bridgeCommand,
  logsCommand,
  deployCommand,
  statusCommand,
  initCommand,
  localConfigCommand,
  doctorCommand,
  upgradeCommand,
  completionCommand(() => commands),
];
