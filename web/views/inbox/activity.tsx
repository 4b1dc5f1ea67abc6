import type { ComponentChildren } from "preact";
import { sessionName } from "../../chat/session-name.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { type Answer, useAnswer } from "../../parts/use-answer.ts";
import { addressOf } from "../../routes.ts";
import type { ConsoleState } from "../../state/console-state.ts";

/** A session that was used in this time may have a run in progress, ms. */
const recentMs = 30 * 60_000;
const maxRecent = 8;
const maxSleeping = 10;

/** What runs now, and what the agent does by itself next. */
export function Activity({ state }: { state: ConsoleState }) {
  const running = useAnswer(state, () => readRunning(state), [state.sessions.value]);
  const sleeping = useAnswer(state, () => readSleeping(state), [state.sessions.value]);
  return (
    <>
      <Group title="Running now" answer={running} empty="Nothing runs.">
        {(session) => (
          <li key={session.sessionKey}>
            <a href={addressOf("chat", session.sessionKey)} dir="auto">
              {showHidden(sessionName(session))}
            </a>
          </li>
        )}
      </Group>
      <Group title="Asleep until" answer={sleeping} empty="No job and no heartbeat is planned.">
        {({ key, at, name }) => (
          <li key={key}>
            <time>{timeText(at)}</time>
            <span dir="auto">{showHidden(name)}</span>
          </li>
        )}
      </Group>
    </>
  );
}

interface GroupProps<T> {
  title: string;
  answer: Answer<T[]>;
  empty: string;
  children: (one: T) => ComponentChildren;
}

function Group<T>({ title, answer: { value, fault, reload }, empty, children }: GroupProps<T>) {
  return (
    <section class="group" aria-label={title}>
      <h2>{title}</h2>
      {value.value?.length === 0 && <p class="note">{empty}</p>}
      <ul class="lines">{value.value?.map(children)}</ul>
      <Fault text={fault.value} retry={reload} />
    </section>
  );
}

async function readRunning({ sessions, connection }: ConsoleState) {
  const since = Date.now() - recentMs;
  const recent = sessions.value.filter(({ lastActiveAt }) => lastActiveAt >= since).slice(0, maxRecent);
  const stats = await Promise.all(
    recent.map(({ sessionKey }) => connection.request("session.stats", { sessionKey })),
  );
  return recent.filter((_, index) => stats[index]?.isProcessing || (stats[index]?.queueSize ?? 0) > 0);
}

async function readSleeping({ connection }: ConsoleState) {
  const [{ jobs }, { agents }] = await Promise.all([
    connection.request("cron.list", { includeDisabled: false }),
    connection.request("heartbeat.status"),
  ]);
  const planned = jobs.flatMap(({ id, name, state: { nextRunAtMs } }) =>
    nextRunAtMs === undefined ? [] : [{ key: id, name, at: nextRunAtMs }],
  );
  const beats = Object.values(agents).flatMap(({ agentId, nextHeartbeatAt }) =>
    nextHeartbeatAt === null
      ? []
      : [{ key: `heartbeat ${agentId}`, name: `heartbeat of ${agentId}`, at: nextHeartbeatAt }],
  );
  return [...planned, ...beats].sort((a, b) => a.at - b.at).slice(0, maxSleeping);
}
