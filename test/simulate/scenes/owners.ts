import { handleInbound } from "../../../shared/channels/inbound/inbound.ts";
import { addJob, runJobs, updateJob } from "../../../shared/cron/jobs.ts";
import { metaKey, type SessionState } from "../../../shared/session/state.ts";
import { configurationKey } from "../../../shared/world/stored-format.ts";
import type { World } from "../../../shared/world/world.ts";
import type { SceneAction } from "../load/actions.ts";
import { noTools, textOfScript } from "../load/script.ts";
import { gatewayOf } from "./gateway.ts";
import type { Delivery, Scene, Stage, Write } from "./scene.ts";

export const ownerActions = ["write", "write", "write", "command", "add", "remove", "remove", "report"];

/** People who become owners and guests. The user of the other actions is always an owner. */
const people = ["ann", "ben"];

const path = "channels.sim.owners";
const everyMinute = { kind: "every", everyMs: 60_000 } as const;

/** People become owners and guests while the agent answers them, and reports to whichever owner wrote last. */
export function createOwners({ ledger, peers, timeline, cloud }: Stage): Scene {
  /** When somebody last was an owner: until now, or until a removal. Epoch ms. */
  const until = new Map<string, number>();
  const delivered: (Delivery & { at: number })[] = [];
  /** When a session was last committed: whatever it delivers has been decided since then. Epoch ms. */
  const committedAt = new Map<string, number>();
  /** Changes that begin while the agent works on an answer. */
  const waiting: (() => void)[] = [];
  let [jobId, messages, isOver] = ["", 0, false];
  const fault = (what: string) => ledger.fault(`owners: ${what}`);
  const change = (next: (owners: string[]) => string[]) => (world: World) =>
    gatewayOf(world).configuration.change(path, (owners) => next(owners as string[]));
  const add = (who: string) => change((owners) => [...owners.filter((one) => one !== who), who]);
  const remove = (who: string) => change((owners) => owners.filter((one) => one !== who));
  const cronOf = (world: World) => ({ ...gatewayOf(world), configuration: gatewayOf(world).configuration });
  const report = (world: World) => runJobs(cronOf(world), { id: jobId, mode: "force" });
  const hear = async (id: string, who: string, text: string) => {
    const eventId = `owners-${id}`;
    const peer = { kind: "dm", id: who } as const;
    const address = { channel: "sim", accountId: "default" };
    const timestamp = timeline.now;
    const isAnswered = await peers.insist(id, (world) =>
      handleInbound(peers.inboundOf(world, gatewayOf(world).configuration), address, {
        ...{ eventId, messageId: eventId, peer, sender: { id: who }, text, timestamp, wasMentioned: true },
      }),
    );
    return isAnswered ? `sim:default:${eventId}` : undefined;
  };
  const write = async (id: string, who: string, ms: number) => {
    const sent = await hear(id, who, textOfScript({ ...noTools, number: 300 + messages++, ms }));
    if (sent) ledger.acknowledged.add(sent);
    return sent;
  };
  const main = () => cloud.store.get(metaKey("agent:main:main")) as unknown as SessionState | undefined;
  /** Waits until the main session has answered. A silent model takes minutes. */
  const idle = async () => {
    do await timeline.pass(5_000);
    while (main()?.run || (main()?.inbox.length ?? 0) > 0);
  };
  return {
    async prepare() {
      const spec = { mode: "systemEvent", text: "an event" } as const;
      const job = { name: "report", spec, enabled: true, schedule: everyMinute };
      await add("ann")(cloud.direct);
      jobId = (await addJob(cronOf(cloud.direct), job)).id;
    },
    async perform({ does, value }: SceneAction, id: string) {
      const who = people[value % people.length] ?? "";
      if (does === "write") await write(id, who, value * 5);
      else if (does === "command") await hear(id, who, value % 4 === 0 ? "/reset" : "/compact 1");
      else if (does === "report") await peers.insist(id, report);
      else {
        const begin = () => peers.insist(id, does === "add" ? add(who) : remove(who));
        if (value % 3 === 0) await begin();
        else waiting.push(() => void begin());
      }
    },
    written({ key, before, after }: Write) {
      if (key.pk === configurationKey.pk && key.sk === configurationKey.sk) {
        const owners = JSON.parse(String(after?.overrides)).channels.sim.owners as string[];
        for (const [who, end] of until) if (end > timeline.now) until.set(who, timeline.now);
        for (const who of owners) until.set(who, Number.POSITIVE_INFINITY);
        ledger.ownersChangedAt = timeline.now;
      }
      if (key.sk !== "META" || !key.pk.startsWith("S#") || !after) return;
      const [was, is] = [before as unknown as SessionState | undefined, after as unknown as SessionState];
      if (is.run && is.run.runId !== was?.run?.runId)
        for (const begin of waiting.splice(0)) timeline.after(timeline.jitter(2_000), begin);
      if (is.commits !== was?.commits) committedAt.set(is.sessionKey, timeline.now);
    },
    delivers({ id, to }: Delivery) {
      // What was sent before is not sent again.
      if (!people.includes(to) || cloud.store.get({ pk: `TX#${id}`, sk: "0000" })) return;
      const runId = id.replace(/:error$/, "");
      const sent = ledger.entries.get(runId);
      if (!sent) return fault(`${to} gets ${id}, which answers nothing`);
      delivered.push({ id: runId, to, at: timeline.now });
      if (sent.entry.role === "guest") return;
      if ((until.get(to) ?? 0) < (committedAt.get(sent.sessionKey) ?? 0))
        fault(`${to} gets ${id}, but is no owner`);
    },
    async calm() {
      for (const begin of waiting.splice(0)) begin();
      // Until then, earlier requests and paused machines have ended.
      await timeline.pass(180_000);
      await idle();
      await peers.insist("owners-add-1", add("ann"));
      const sent = await write("owners-last", "ann", 300);
      await idle();
      if (ledger.entries.get(sent ?? "")?.entry.role !== "owner") fault("a new owner writes as a guest");
      if (!delivered.some(({ id }) => id === sent)) fault("a new owner gets no answer");
      await peers.insist("owners-remove", remove("ann"));
      await peers.insist("owners-report-1", report);
      await idle();
      const again = timeline.now;
      await peers.insist("owners-add-2", add("ann"));
      const isReported = () =>
        delivered.some(({ id, to, at }) => at >= again && to === "ann" && id.startsWith(`cron-${jobId}-`));
      // The first attempts may meet the end of a scheduled run.
      for (let tries = 0; tries < 3 && !isReported(); tries++) {
        await peers.insist("owners-report-2", report);
        await idle();
      }
      if (!isReported()) fault("a new owner gets no report");
      await peers.insist("owners-end", (world) =>
        updateJob(cronOf(world), { id: jobId, patch: { enabled: false } }),
      );
      isOver = true;
    },
    isQuiet: () => isOver,
    async rest() {},
  };
}
