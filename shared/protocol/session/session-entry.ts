/** A session in a list. Times are epoch ms. */
export interface SessionEntry {
  sessionKey: string;
  createdAt: number;
  lastActiveAt: number;
  label?: string;
}
