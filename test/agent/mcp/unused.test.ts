import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { createRemoteTools } from "../../../functions/agent/mcp/lazy-remote-tools.ts";
import { offerRemote } from "../../../functions/agent/mcp/offer-tools.ts";
import { bundleTarget } from "../../../infra/bundle.ts";
import { nodeBundle } from "../../../shared/build/node-bundle.mjs";
import { defaults } from "../../../shared/configuration/defaults.ts";

/** Fails when anything of it is used. */
const unreachable = <T extends object>(): T =>
  new Proxy({} as T, {
    get(_, name) {
      throw new Error(`used ${String(name)}`);
    },
  });

describe("without a configured MCP server", () => {
  it("the agent reads nothing, offers nothing, and has no search for tools", async () => {
    const tools = createRemoteTools({
      ...{ table: unreachable(), secrets: unreachable(), configuration: unreachable() },
      ...{ now: Date.now, pause: async () => true },
    });
    tools.prepare(defaults);
    const offered = await tools.offered(defaults);
    const remote = offerRemote(offered, () => false, [], defaults, "main");
    expect([offered, [...remote.tools], remote.described]).toEqual([[], [], []]);
  });

  it.each(["agent", "socket", "webhook", "timer"] as const)(
    "a cold start of %s loads neither the MCP SDK nor what uses servers",
    async (name) => {
      const { entry } = bundleTarget(process.cwd(), name);
      const { metafile } = await build({
        ...nodeBundle,
        ...{
          entryPoints: { handler: entry },
          outdir: "out",
          write: false,
          metafile: true,
          logLevel: "silent",
        },
      });
      const { outputs } = metafile;
      const loaded = new Set<string>();
      const load = (file: string) => {
        if (loaded.has(file)) return;
        loaded.add(file);
        for (const one of outputs[file]?.imports ?? []) if (one.kind === "import-statement") load(one.path);
      };
      load(Object.keys(outputs).find((file) => file.endsWith("handler.mjs")) ?? "");
      const inputs = [...loaded].flatMap((file) => Object.keys(outputs[file]?.inputs ?? {}));
      expect(inputs.length).toBeGreaterThan(20);
      expect(
        inputs.filter((file) =>
          /@modelcontextprotocol|shared\/mcp\/(?!tool-arguments|login-return|task-wire)|agent\/mcp\/(?:remote|server)-/.test(
            file,
          ),
        ),
      ).toEqual([]);
    },
  );
});
