import { dreamMethods, memoryMethods } from "../../../functions/socket/methods/memory.ts";
import { mergeConfiguration } from "../../../shared/configuration/store.ts";
import type { DreamState } from "../../../shared/dreaming/dream-state.ts";
import { planDream } from "../../../shared/dreaming/plan-dream.ts";
import { recallEvent, recordRecall } from "../../../shared/dreaming/recall-events.ts";
import { memoryId } from "../../../shared/memory/memory-line.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { submitMessage } from "../../../shared/session/intake.ts";
import type { World } from "../../../shared/world/world.ts";
import type { SceneAction } from "../load/actions.ts";
import { facts, factsIn } from "../load/facts.ts";
import { noTools, textOfScript } from "../load/script.ts";
import { gatewayOf } from "./gateway.ts";
import type { Scene, Stage, Write } from "./scene.ts";

export const memoryActions = [
  "say",
  "say",
  "reset",
  "reset",
  "compact",
  "forget",
  "recall",
  "recall",
  "dream",
];

const agentId = "main";
const dreamPk = `DREAM#${agentId}`;
const dreaming = { enabled: true, intervalSecs: 300, minScore: 0, minRecallCount: 1, minUniqueQueries: 1 };

/** A sweep that is overdue for longer than this is dead. Milliseconds. */
const maxOverdueMs = 180_000;

/** Facts are said, extracted, recalled, promoted by dreams, and forgotten at the same time. */
export function createMemories({ ledger, peers, timeline, cloud, faults }: Stage): Scene {
  /** Facts that somebody asked to forget, and those for which that was acknowledged. */
  const [asked, forgotten] = [new Set<string>(), new Set<string>()];
  /** Requests to forget that begin when an extraction has found something. */
  const waiting: ((found: string) => Promise<void>)[] = [];
  let said = 0;
  const dream = () => cloud.store.get({ pk: dreamPk, sk: "META" }) as unknown as DreamState | undefined;
  const fault = (what: string) => ledger.fault(`memories: ${what}`);
  const extractions = () => [...cloud.store.range({ pk: `EXTRACT#${agentId}` })];
  const set = (world: World, path: string, value: unknown) => gatewayOf(world).configuration.set(path, value);
  const files = () =>
    cloud.bucket.keys().filter((key) => /^agents\/main\/(memory\/.*|MEMORY|DREAMS)\.md$/.test(key));
  const textOf = (key: string) => cloud.bucket.peek(key) ?? "";
  const send = async (id: string, text: string) => {
    const origin = { kind: "client", connectionId: "c-1", requestId: id } as const;
    const incoming = { id, text, origin, writer: {} };
    const submit = (world: World) => submitMessage(peers.intakeOf(world), "agent:main:main", incoming);
    if (await peers.insist(id, submit)) ledger.acknowledged.add(id);
  };
  const forget = (id: string) => async (world: World) => {
    try {
      await memoryMethods["memory.forget"].handle(gatewayOf(world), { id }, {} as never);
    } catch (error) {
      // A repeat finds nothing.
      if (!(error instanceof PeerError) || error.retryable) throw error;
    }
  };
  const recall = (id: string, memory: string) => async (world: World) => {
    const found = [{ id: memory, places: [{ path: notes(), line: 1 }], rank: 1 }];
    await recordRecall(world.table, agentId, recallEvent(id, id, timeline.now, found));
    const configuration = await gatewayOf(world).configuration.load({ fresh: true });
    await planDream(world, agentId, configuration, world.now());
  };
  const notes = () => "memory/2026-03-02.md";
  return {
    async prepare() {
      await set(cloud.direct, "dreaming", { ...mergeConfiguration({}).dreaming, ...dreaming });
      const { handle } = memoryMethods["memory.add"];
      for (const text of facts) await handle(gatewayOf(cloud.direct), { text } as never, {} as never);
    },
    async perform({ does, value }: SceneAction, id: string) {
      const fact = facts[value % facts.length] ?? "";
      if (does === "say") {
        const script = { ...noTools, number: 200 + said++, ms: 200 };
        await send(id, `${fact}. ${textOfScript(script)}`);
      } else if (does === "reset") await send(id, "/reset");
      else if (does === "compact") await send(id, "/compact 1");
      else if (does === "forget") {
        const begin = async (found: string) => {
          asked.add(found);
          if (await peers.insist(id, forget(memoryId(found)))) forgotten.add(found);
        };
        if (value % 3 === 0) await begin(fact);
        else waiting.push(begin);
      } else if (does === "recall") await peers.insist(id, recall(id, memoryId(fact)));
      else
        await peers.insist(id, (world) =>
          dreamMethods["memory.dream"].handle(gatewayOf(world), { dryRun: false } as never, {} as never),
        );
    },
    written({ key, before, after, writer }: Write) {
      const isFound = key.pk === `EXTRACT#${agentId}` && before?.memories === undefined;
      for (const fact of isFound ? factsIn(String(after?.memories)) : [])
        for (const begin of waiting.splice(0)) timeline.after(timeline.jitter(60), () => void begin(fact));
      const isStopped = key.pk === `EXTRACT#${agentId}` && after?.state === "stopped";
      if (isStopped && /^(agent|timer)/.test(writer)) fault("nobody has stopped an extraction");
      if (key.pk !== dreamPk) return;
      const [was, is] = [before as DreamState | undefined, after as DreamState | undefined];
      const isTaken = is?.owner !== undefined && was?.owner !== undefined && is.owner !== was.owner;
      // Clocks differ by less than the tolerance.
      if (isTaken && Number(was?.leaseUntil) > timeline.now + 10_000)
        fault("a sweep acquired the lease of another");
    },
    async calm() {
      await timeline.pass(maxOverdueMs + 60_000);
      const { nextAt, sweep } = dream() ?? {};
      if (nextAt !== undefined && nextAt < timeline.now - maxOverdueMs) fault("the next sweep is dead");
      if (sweep && sweep.at < timeline.now - maxOverdueMs - 60_000) fault("a sweep was not resumed");
      await set(cloud.direct, "dreaming.enabled", false);
    },
    isQuiet: () =>
      dream()?.sweep === undefined &&
      dream()?.nextAt === undefined &&
      extractions().every(({ state }) => state !== "pending"),
    async rest() {
      for (const { state, reason } of extractions())
        if (state !== "done" && state !== "stopped") fault(`an extraction is ${state}: ${reason}`);
      for (const fact of facts) {
        const places = files().filter((key) => textOf(key).includes(fact));
        if (forgotten.has(fact) && places.length > 0) fault(`"${fact}" was forgotten, but is in ${places}`);
        if (!asked.has(fact) && places.length === 0) fault(`"${fact}" was lost`);
        const promotions = textOf("agents/main/MEMORY.md").split(fact).length - 1;
        if (promotions > 1) fault(`"${fact}" was promoted ${promotions} times`);
      }
      const sweeps = textOf("agents/main/DREAMS.md").match(/^## Deep Sleep .*/gm) ?? [];
      if (faults.total === 0 && sweeps.length < new Set(sweeps).size) fault("a sweep is twice in the diary");
    },
  };
}
