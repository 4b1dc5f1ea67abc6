import type { CommandEntry } from "../../app/program.ts";

/** `gsv heartbeat …` */
export const heartbeatCommand: CommandEntry = {
  name: "heartbeat",
  summary: "wake an agent from time to time to look after what its HEARTBEAT.md says",
  examples: ["heartbeat status", "heartbeat start"],
  commands: [
    {
      name: "status",
      summary: "the heartbeat of every agent: its settings, the next beat, what the last one said",
      examples: ["heartbeat status", "heartbeat status --json"],
      load: async () => (await import("./heartbeat-commands.ts")).showHeartbeats,
    },
    {
      name: "start [agentId]",
      summary: "turn the heartbeat on, for every agent unless one is named; each beat is a model call",
      examples: ["heartbeat start", "heartbeat start work"],
      load: async () => (await import("./heartbeat-commands.ts")).startHeartbeat,
    },
    {
      name: "stop [agentId]",
      summary: "turn the heartbeat off, for every agent unless one is named",
      examples: ["heartbeat stop", "heartbeat stop work"],
      load: async () => (await import("./heartbeat-commands.ts")).stopHeartbeat,
    },
    {
      name: "trigger [agentId]",
      summary: "ask the agent now, at any hour (default: the default agent)",
      examples: ["heartbeat trigger", "heartbeat trigger work"],
      load: async () => (await import("./heartbeat-commands.ts")).triggerHeartbeat,
    },
  ],
};
