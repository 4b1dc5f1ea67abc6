import type { ComponentType } from "preact";
import type { IconName } from "../parts/icon.tsx";
import type { ConsoleState } from "../state/console-state.ts";

/** A view beside the chat. Its component is loaded when it is shown, and draws the content below the title. */
export interface View {
  title: string;
  icon: IconName;
  /** It has no link in the navigation: another view leads to it. */
  isUnlisted?: true;
  /** The number of items that wait for the user, for a badge. */
  waiting?: (state: ConsoleState) => number;
  load: () => Promise<ComponentType<{ state: ConsoleState }>>;
}

/** The code of all views is one file: with one for each, what they share would be many files of the first load. */
const loadAll = () => import("./all-views.ts");

/** The views by their names in the address, in the order of the navigation. */
export const views: ReadonlyMap<string, View> = new Map<string, View>([
  [
    "inbox",
    {
      title: "Inbox",
      icon: "inbox",
      waiting: ({ approvals, waiting }) => approvals.value.length + waiting.count.value,
      load: async () => (await loadAll()).Inbox,
    },
  ],
  ["memory", { title: "Memory", icon: "memory", load: async () => (await loadAll()).Memory }],
  ["cost", { title: "Cost", icon: "cost", load: async () => (await loadAll()).Cost }],
  ["devices", { title: "Devices", icon: "devices", load: async () => (await loadAll()).Devices }],
  [
    "session",
    { title: "Session", icon: "chat", isUnlisted: true, load: async () => (await loadAll()).Session },
  ],
]);
