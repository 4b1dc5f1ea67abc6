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
  load: () => Promise<{ default: ComponentType<{ state: ConsoleState }> }>;
}

/** The views by their names in the address, in the order of the navigation. */
export const views: ReadonlyMap<string, View> = new Map<string, View>([
  [
    "inbox",
    {
      title: "Inbox",
      icon: "inbox",
      waiting: ({ approvals, waiting }) => approvals.value.length + waiting.count.value,
      load: () => import("./inbox.tsx"),
    },
  ],
  ["memory", { title: "Memory", icon: "memory", load: () => import("./memory.tsx") }],
  ["cost", { title: "Cost", icon: "cost", load: () => import("./cost.tsx") }],
  ["devices", { title: "Devices", icon: "devices", load: () => import("./devices.tsx") }],
  ["session", { title: "Session", icon: "chat", isUnlisted: true, load: () => import("./session.tsx") }],
]);
