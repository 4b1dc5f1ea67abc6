import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type Dev, startDev } from "../../local/dev/dev.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Script } from "../support/models/scripted-model.ts";
import { newFolder } from "../support/run/test-folders.ts";

/** A gateway of its own, with a scripted model. */
export interface Served {
  dev: Dev;
  model: ModelServer;
  dir: string;
  tokenOf(name: string, scopes: Scope[]): Promise<string>;
  close(): Promise<void>;
}

export async function serve(script: Script, dir = join(newFolder(), ".gsv")): Promise<Served> {
  const model = await startOpenAiServer(script);
  const dev = await startDev({ dir });
  await dev.configuration.set("budgets", { enabled: false });
  await dev.configuration.set("model", { provider: "openai-compatible", id: "m", baseUrl: model.url });
  const { table } = dev.cloud.world;
  return {
    dev,
    model,
    dir,
    tokenOf: async (name, scopes) => (await createToken(table, { name, scopes }, Date.now())).token,
    async close() {
      await dev.close();
      await model.close();
    },
  };
}

/** The protocol revisions in which a program may speak. */
export const revisions = ["2026-07-28", "2025-11-25", "2025-06-18"] as const;

/** Connects the SDK's client in one revision. */
export async function openProgram(
  url: string,
  token: string,
  revision: string = revisions[0],
): Promise<Client> {
  const isNew = revision === revisions[0];
  const client = new Client(
    { name: "program", version: "1" },
    isNew
      ? { versionNegotiation: { mode: { pin: revision } } }
      : { supportedProtocolVersions: [revision], versionNegotiation: { mode: "legacy" } },
  );
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** The text of a tool's result. */
export function textOf(result: object): string {
  const { content = [] } = result as { content?: { type: string; text?: string }[] };
  return content.map(({ text = "" }) => text).join("\n");
}

const names = { name: "program", version: "1" };

/** The parameters that each request of the revision 2026-07-28 has. */
export const envelope = {
  "io.modelcontextprotocol/protocolVersion": revisions[0],
  "io.modelcontextprotocol/clientInfo": names,
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

/** Sends one request of a program that understands tasks. */
export async function send(
  url: string,
  token: string,
  method: string,
  params: Record<string, unknown>,
): Promise<{ status: number; result?: Record<string, unknown>; error?: { code: number; message: string } }> {
  const name = params.name ?? params.taskId;
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": revisions[0],
      "mcp-method": method,
      ...(name === undefined ? {} : { "mcp-name": String(name) }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope } }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}
