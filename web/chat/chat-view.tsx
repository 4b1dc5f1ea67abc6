import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import type { ConsoleState } from "../state/console-state.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { Composer } from "./composer.tsx";
import { EditBanner, editsLast } from "./edit-banner.tsx";
import { EntryView } from "./entry-view.tsx";
import { FirstWords } from "./first-words.tsx";
import type { FileSource } from "./message-files.tsx";
import { useNewestFirst } from "./newest-first.ts";
import { agentOf } from "./session-name.ts";

/** How far from the newest entry a reader may be and still follows it, in pixels. */
const followPixels = 80;

/** The conversation of the shown session, and the box for the next message. */
export function ChatView({
  state,
  draft,
  source,
  isHidden,
}: {
  state: ConsoleState;
  draft: { value: string };
  source: FileSource;
  isHidden: boolean;
}) {
  const log = useRef<HTMLDivElement>(null);
  const isFollowing = useSignal(true);
  const view = state.conversation.value;
  const entries = view.entries.value;
  const drawn = useNewestFirst(view, entries);
  const asked = state.asked.value;
  const agentId = agentOf(view.sessionKey.value);
  const newest = () => log.current?.scrollTo({ top: log.current.scrollHeight });
  // The writer of a message wants to see it.
  const written = entries.findLast((entry) => entry.kind === "user" && entry.unsent !== undefined)?.key;
  useEffect(() => {
    isFollowing.value = true;
    newest();
  }, [view, written]);
  useFollowing(log, isFollowing);
  const earlier = async () => {
    const before = log.current?.scrollHeight ?? 0;
    await view.loadEarlier();
    requestAnimationFrame(() => log.current?.scrollBy({ top: log.current.scrollHeight - before }));
  };
  const isEmpty = view.isLoaded.value && entries.length === 0;
  const isWriting = view.isRunning.value && entries.at(-1)?.kind !== "tool";
  return (
    <main class="chat" hidden={isHidden} onKeyDown={(event) => editsLast(event, state, draft)}>
      <div class="log" role="log" aria-label="Conversation" aria-live="off" tabIndex={0} ref={log}>
        <div class="column">
          {view.hasEarlier.value && (
            <button type="button" class="quiet earlier" onClick={() => void earlier()}>
              Show earlier messages
            </button>
          )}
          {!view.isLoaded.value && <p class="note">Loading the conversation…</p>}
          {isEmpty && <FirstWords state={state} draft={draft} />}
          {drawn.map((entry) => (
            <EntryView
              key={view.shownKey(entry)}
              entry={entry}
              state={state}
              agentId={agentId}
              source={source}
            />
          ))}
          {view.waiting.value && <p class="note">{view.waiting.value}</p>}
          {isWriting && asked.length === 0 && (
            <p class="writing" role="status">
              <span class="hidden">The agent is working</span>
              <i />
              <i />
              <i />
            </p>
          )}
          {asked.map((request) => (
            <ApprovalCard key={request.id} request={request} state={state} />
          ))}
        </div>
      </div>
      {!isFollowing.value && (
        <div class="newest-place">
          <button type="button" class="round newest" aria-label="Jump to the newest message" onClick={newest}>
            <Icon name="down" />
          </button>
        </div>
      )}
      <EditBanner state={state} draft={draft} />
      <Composer state={state} draft={draft} />
    </main>
  );
}

/** Keeps the newest entry in view while it grows, unless the reader has scrolled up. */
function useFollowing(log: RefObject<HTMLDivElement | null>, isFollowing: Signal<boolean>): void {
  useEffect(() => {
    const element = log.current;
    if (!element?.firstElementChild) return;
    let before = element.scrollTop;
    const scrolled = () => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      if (scrollHeight - scrollTop - clientHeight < followPixels) isFollowing.value = true;
      // Entries change their size as well: only a reader scrolls up.
      else if (scrollTop < before) isFollowing.value = false;
      before = scrollTop;
    };
    const observer = new ResizeObserver(() => {
      if (isFollowing.peek()) element.scrollTop = element.scrollHeight;
    });
    observer.observe(element.firstElementChild);
    observer.observe(element);
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", scrolled);
    };
  }, [log, isFollowing]);
}
