export { default as Cost } from "./cost.tsx";
export { default as Devices } from "./devices.tsx";
export { default as Inbox } from "./inbox.tsx";
export { default as Memory } from "./memory.tsx";
export { default as Session } from "./session.tsx";
