import type { CommandEntry } from "../../app/program.ts";

/** `gsv heartbeat …` */
export const heartbeatCommand: CommandEntry = {
  name: "heartbeat",
  summary: "wake an agent periodically to do what its HEARTBEAT.md says",
  examples: ["heartbeat status", "heartbeat start"],
  commands: [
    {
      name: "status",
      summary: "the heartbeat of every agent: its settings, the next beat, the last answer",
      examples: ["heartbeat status", "heartbeat status --json"],
      load: async () => (await import("./heartbeat-commands.ts")).showHeartbeats,
    },
    {
      name: "start [agentId]",
      summary: "turn the heartbeat on, for one agent or all; each beat is a model call",
      examples: ["heartbeat start", "heartbeat start work"],
      load: async () => (await import("./heartbeat-commands.ts")).startHeartbeat,
    },
    {
      name: "stop [agentId]",
      summary: "turn the heartbeat off, for one agent or all",
      examples: ["heartbeat stop", "heartbeat stop work"],
      load: async () => (await import("./heartbeat-commands.ts")).stopHeartbeat,
    },
    {
      name: "trigger [agentId]",
      summary: "run a heartbeat now, at any hour (default: the default agent)",
      examples: ["heartbeat trigger", "heartbeat trigger work"],
      load: async () => (await import("./heartbeat-commands.ts")).triggerHeartbeat,
    },
  ],
};
