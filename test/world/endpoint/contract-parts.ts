/** The parts of the outside world whose contracts can run against a foreign server, each in `{part}.contract.ts`. */
export const parts = ["table", "bucket", "secrets"] as const;

export function isPart(name: string): boolean {
  return parts.some((part) => part === name);
}
