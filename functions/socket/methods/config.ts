import { parsePath } from "../../../shared/configuration/configuration-paths.ts";
import {
  decideUpgrade,
  readUpgrade,
  type UpgradeWord,
  upgradeWords,
} from "../../../shared/configuration/upgrade.ts";
import { replanBeats } from "../../../shared/heartbeat/replan-beats.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { askAllNodes } from "../../../shared/skills/probing.ts";
import type { MethodTable } from "../gateway.ts";

/**
 * Refuses a token in the configuration, because nothing reads it. Null is accepted: it removes a token of an earlier version.
 * @throws PeerError 400
 */
function checkNoToken(path: string, value: unknown): void {
  if (parsePath(path)[0] !== "auth" || value === null || value === undefined) return;
  const message = `${path}: tokens are not part of the configuration; create one with the method token.create (\`gsv token create NAME\`)`;
  throw new PeerError(code.badRequest, message);
}

/** The path of the stored format, which is not part of the configuration: an earlier version would refuse it. */
const upgrade = "upgrade";

function parseWord(value: unknown): UpgradeWord {
  const word = upgradeWords.find((known) => known === (value ?? "auto"));
  if (word) return word;
  throw new PeerError(code.badRequest, `${upgrade}: expected ${upgradeWords.join(", ")}`);
}

export const configMethods: Pick<MethodTable, "config.get" | "config.set"> = {
  "config.get": {
    modes: ["client"],
    handle: async ({ configuration, table }, { path }) =>
      path === upgrade ? { path, value: await readUpgrade(table) } : configuration.get(path),
  },
  "config.set": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, { path, value }) {
      if (path === upgrade) {
        await decideUpgrade(gateway.table, parseWord(value));
        return { ok: true, path };
      }
      checkNoToken(path, value);
      const done = await gateway.configuration.set(path, value);
      const [section = ""] = parsePath(path);
      if (["skills", "agents"].includes(section)) await askAllNodes(gateway, gateway.skills);
      if (["agents", "userTimezone"].includes(section)) await replanBeats(gateway);
      return done;
    },
  },
};
