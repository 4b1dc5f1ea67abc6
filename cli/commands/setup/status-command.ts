import { pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { failureOf } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { version } from "../../app/version.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

export const status: Action = async (context) => {
  const settings = await context.settings();
  const address = await context.address(true);
  const started = performance.now();
  const gateway = await context.gateway().catch((error: unknown) => {
    // Print the configuration too when the gateway cannot be reached.
    if (!context.json)
      context.print(
        undefined,
        pairs([
          ["gateway", address.url],
          ["configured in", address.source],
        ]),
      );
    throw error;
  });
  const connectMs = Math.round(performance.now() - started);
  const pinged = performance.now();
  const { tools } = await gateway.request("tools.list");
  const latencyMs = Math.round(performance.now() - pinged);
  const nodes = [...new Set(tools.map((tool) => tool.name.split("__")[0] ?? ""))].filter(
    (name) => name !== "gsv",
  );
  const sessions = await gateway.request("sessions.list", { limit: 1000 });
  const model = await modelOf(gateway, context);
  const found = {
    version,
    url: address.url,
    source: address.source,
    file: settings.file,
    server: gateway.hello.server.version,
    connectMs,
    latencyMs,
    nodes,
    tools: tools.length,
    sessions: sessions.count,
    sessionKey: settings.sessionKey,
    model,
  };
  const shown = pairs([
    ["gsv", version],
    ["gateway", address.url],
    ["configured in", address.source],
    ["answers", `yes, version ${found.server}; connected in ${connectMs} ms, ${latencyMs} ms a request`],
    ["model", model ?? 'none; set it with `gsv config set model \'{"provider":…,"id":…}\'`'],
    ["nodes", nodes.length > 0 ? nodes.join(", ") : "none; start one with `gsv node`"],
    ["tools", String(found.tools)],
    ["sessions", String(found.sessions)],
    ["session", settings.sessionKey],
  ]);
  context.print(found, shown);
};

/** The model as provider/id. Undefined when none is set or the configuration cannot be read. */
async function modelOf(gateway: Gateway, context: Context): Promise<string | undefined> {
  try {
    const answer = await gateway.request("config.get", { path: "model" });
    const model = "value" in answer ? (answer.value as { provider?: string; id?: string } | null) : null;
    return model?.provider && model.id ? `${model.provider}/${model.id}` : undefined;
  } catch (error) {
    context.note(`gsv: the model cannot be read: ${failureOf(error).message}`);
    return undefined;
  }
}
