import { pairs, visible } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { failureOf } from "../../app/failure.ts";
import { version } from "../../app/installation.ts";
import type { Action } from "../../app/program.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { channelSettings } from "../channel/channel-owners.ts";

export const status: Action = async (context) => {
  const settings = await context.settings();
  const address = await context.address(true);
  const started = performance.now();
  const gateway = await context.gateway().catch((error: unknown) => {
    // Print the configuration even when the gateway cannot be reached.
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
  const channels = await peopleOf(gateway, context);
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
    channels,
  };
  const shown = pairs([
    ["gsv", version],
    ["gateway", address.url],
    ["configured in", address.source],
    ["answers", `yes, version ${found.server}; connected in ${connectMs} ms, ${latencyMs} ms per request`],
    ["model", model ?? 'none; set it with `gsv config set model \'{"provider":…,"id":…}\'`'],
    ["nodes", nodes.length > 0 ? nodes.join(", ") : "none; start one with `gsv node`"],
    ["tools", String(found.tools)],
    ["sessions", String(found.sessions)],
    ["session", settings.sessionKey],
    ...Object.entries(channels).map(([name, people]) => [visible(name), describePeople(people)] as const),
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

/** The people who may write on a channel, and who may use nodes in its groups. */
interface People {
  /** Absent: closed. */
  dmPolicy?: string;
  owners: readonly string[];
  guests: readonly string[];
  groups: Readonly<Record<string, string>>;
}

/** The people of each channel; none when the configuration cannot be read. */
async function peopleOf(gateway: Gateway, context: Context): Promise<Record<string, People>> {
  try {
    const channels = Object.entries(await channelSettings(gateway));
    return Object.fromEntries(
      channels.map(([name, { dmPolicy, owners = [], allowFrom = [], groups = {} }]) => {
        const rooms = Object.entries(groups).map(([id, { tools }]) => [id, tools ?? "nobody"]);
        const guests = allowFrom.filter((id) => !owners.includes(id));
        return [name, { dmPolicy, owners, guests, groups: Object.fromEntries(rooms) }];
      }),
    );
  } catch (error) {
    context.note(`gsv: the channels cannot be read: ${failureOf(error).message}`);
    return {};
  }
}

function describePeople({ dmPolicy = "closed", owners, guests, groups }: People): string {
  const list = (ids: readonly string[]) => ids.map(visible).join(", ") || "none";
  const rooms = Object.entries(groups).map(([id, tools]) => `${visible(id)} (machines: ${visible(tools)})`);
  const others = dmPolicy === "open" ? "everyone else" : list(guests);
  const parts = [visible(dmPolicy), `owners: ${list(owners)}`, `guests: ${others}`];
  return [...parts, ...(rooms.length > 0 ? [`groups: ${rooms.join(", ")}`] : [])].join("; ");
}
