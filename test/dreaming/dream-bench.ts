import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { type Dreaming, previewSweep, sweepMemories } from "../../shared/dreaming/dream-sweep.ts";
import { recallEvent, recordRecall } from "../../shared/dreaming/recall-events.ts";
import { openMemories } from "../../shared/memory/memories.ts";
import type { MemoryOrigin } from "../../shared/memory/memory-store.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import type { TimerEvent } from "../../shared/world/world.ts";
import { type Life, mortalStore } from "../memory/mortal-store.ts";
import type { State } from "../support/state.ts";

export const dayMs = 86_400_000;
const ofMain: MemoryOrigin = { sessionKey: "agent:main:main", sessionId: "s-1", kind: "main", by: "agent" };

/** An agent that dreams, at a time that can be moved. */
export class DreamBench {
  now = Date.parse("2026-04-24T03:00:00Z");
  readonly scheduled: { name: string; at: number; event: TimerEvent }[] = [];
  configuration: Configuration = { ...defaults, dreaming: { ...defaults.dreaming, enabled: true } };
  readonly state: Pick<State, "table" | "bucket">;
  readonly agentId: string;
  private calls = 0;

  constructor(state: Pick<State, "table" | "bucket">, agentId: string) {
    this.state = state;
    this.agentId = agentId;
  }

  dreaming(life?: Life): Dreaming {
    const { table, bucket } = mortalStore(this.state, life);
    const workspace = openWorkspace(bucket);
    const schedules = {
      once: async (name: string, at: number, event: TimerEvent) =>
        void this.scheduled.push({ name, at, event }),
    };
    return { table, bucket, schedules, workspace, memories: openMemories({ table, bucket, workspace }) };
  }

  get memories() {
    const { bucket, table } = this.state;
    return openMemories({ table, bucket, workspace: openWorkspace(bucket) });
  }

  private run() {
    return { agentId: this.agentId, configuration: this.configuration, now: this.now };
  }

  sweep(life?: Life) {
    return this.sweepWith(this.dreaming(life));
  }

  sweepWith(dreaming: Dreaming) {
    return sweepMemories(dreaming, this.run());
  }

  preview() {
    return previewSweep(this.dreaming(), this.run());
  }

  /** Writes a memory down. @returns its id */
  async remember(text: string, origin: MemoryOrigin = ofMain): Promise<string> {
    const use = { agentId: this.agentId, audience: "main", now: this.now, timezone: "UTC" } as const;
    return (await this.memories.remember(use, text, origin)).id;
  }

  /** Recalls a memory by each question, as the first of the answer, `daysAgo` days ago. */
  async recall(id: string, questions: readonly string[], daysAgo = 0, rank = 1): Promise<void> {
    const path = `memory/${new Date(this.now).toISOString().slice(0, 10)}.md`;
    for (const question of questions) {
      const found = [{ id, places: [{ path, line: 1 }], rank }];
      const event = recallEvent(`c${++this.calls}`, question, this.now - daysAgo * dayMs - 1, found);
      await recordRecall(this.state.table, this.agentId, event);
    }
  }

  async write(path: string, text: string): Promise<void> {
    await this.state.bucket.put(`agents/${this.agentId}/${path}`, text);
  }

  async read(path: string): Promise<string | undefined> {
    const found = await this.state.bucket.get(`agents/${this.agentId}/${path}`);
    return found && Buffer.from(found.body).toString();
  }
}
