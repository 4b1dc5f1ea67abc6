import { type ConfigurationStore, openConfiguration } from "../configuration/store.ts";
import { absent } from "../world/expression.ts";
import { type Secrets, succeeds, type Table } from "../world/world.ts";

/** The mode of a new gateway. One of an earlier version has no setting, and stays `off` until its owner chooses. */
const modeOfNew = "guard";

const notice = { pk: "POLICY", sk: "NOTICE" };

const refuse = async () => {
  throw new Error("the first mode changes no secret");
};
const noSecrets: Secrets = { get: async () => undefined, put: refuse, delete: refuse };

/** Sets the mode of a gateway that has no token yet. Safe to repeat: a chosen mode stays. */
export async function beginGuarded(table: Table): Promise<void> {
  await openConfiguration(table, noSecrets).change("toolApproval.mode", (mode) => mode ?? modeOfNew);
}

/**
 * Whether nobody has chosen when the owner is asked. `new`: this is the first time that somebody learns it.
 */
export async function findUnchosen(
  table: Table,
  configuration: Pick<ConfigurationStore, "isSet">,
): Promise<"new" | "told" | undefined> {
  if (await configuration.isSet("toolApproval")) return undefined;
  return (await succeeds(table.put(notice, absent("pk")))) ? "new" : "told";
}
