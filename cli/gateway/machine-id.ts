/**
 * Converts a host name to a client id: first label, lower case, other characters as hyphens; `node` when it
 * is empty, or `gsv`, which is the gateway's own name.
 */
export function machineId(host: string): string {
  const label = host.toLowerCase().split(".")[0] ?? "";
  const id = label
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 48);
  return id === "gsv" ? "node" : id || "node";
}
