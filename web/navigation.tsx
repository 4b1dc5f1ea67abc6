import { Icon, type IconName } from "./parts/icon.tsx";
import { addressOf, route } from "./routes.ts";
import type { ConsoleState } from "./state/console-state.ts";
import { views } from "./views/views.ts";

interface Place {
  name: string;
  title: string;
  icon: IconName;
  waiting?: number;
}

/** All places of the page: the chat, then the views. */
function placesOf(state: ConsoleState): Place[] {
  const listed = [...views].filter(([, { isUnlisted }]) => !isUnlisted);
  const others = listed.map(([name, { title, icon, waiting }]) => ({
    ...{ name, title, icon },
    waiting: waiting?.(state) ?? 0,
  }));
  return [{ name: "chat", title: "Chat", icon: "chat" }, ...others];
}

/** The places that the bar of a phone has room for. The others are under More. */
const barNames = ["chat", "inbox"];

/** Links to all views, for the side of a wide window. */
export function SideNavigation({ state }: { state: ConsoleState }) {
  return (
    <nav class="places" aria-label="Views">
      {placesOf(state).map((place) => (
        <PlaceLink place={place} isCurrent={route.value.view === place.name} />
      ))}
    </nav>
  );
}

/** The bar at the bottom of a narrow window. */
export function BottomBar({ state }: { state: ConsoleState }) {
  const places = placesOf(state);
  const current = route.value.view;
  const more: Place = {
    ...{ name: "more", title: "More", icon: "menu" },
    waiting: sum(places.filter(({ name }) => !barNames.includes(name))),
  };
  return (
    <nav class="bar" aria-label="Views">
      {places
        .filter(({ name }) => barNames.includes(name))
        .map((place) => (
          <PlaceLink place={place} isCurrent={current === place.name} />
        ))}
      <PlaceLink place={more} isCurrent={!barNames.includes(current)} />
    </nav>
  );
}

/** The views that the bar has no room for, and the way out. */
export function MoreView({ state, signOut }: { state: ConsoleState; signOut: () => void }) {
  return (
    <main class="view">
      <div class="column">
        <nav class="places" aria-label="More views">
          {placesOf(state)
            .filter(({ name }) => !barNames.includes(name))
            .map((place) => (
              <PlaceLink place={place} isCurrent={false} />
            ))}
        </nav>
        <button type="button" class="quiet" onClick={signOut}>
          Sign out of this device
        </button>
      </div>
    </main>
  );
}

function PlaceLink({ place, isCurrent }: { place: Place; isCurrent: boolean }) {
  const { name, title, icon, waiting = 0 } = place;
  return (
    <a href={addressOf(name)} aria-current={isCurrent ? "page" : undefined}>
      <Icon name={icon} />
      <span class="name">{title}</span>
      {waiting > 0 && (
        <span class="count">
          {waiting}
          <span class="hidden"> waiting</span>
        </span>
      )}
    </a>
  );
}

function sum(places: Place[]): number {
  return places.reduce((total, { waiting = 0 }) => total + waiting, 0);
}
