import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

/** A server of the MCP SDK with one tool, `greet`, which speaks both eras. */
export async function startSdkServer(): Promise<{ url: string; close(): Promise<void> }> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "sdk", version: "1.0.0" });
    const inputSchema = fromJsonSchema<{ name: string }>({
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    });
    server.registerTool("greet", { description: "Greets somebody", inputSchema }, async ({ name }) => ({
      content: [{ type: "text", text: `Hello, ${name}` }],
    }));
    return server;
  });
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const method = request.method ?? "GET";
    const answered = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        ...{ method, headers },
        ...(method === "POST" ? { body: Buffer.concat(chunks) } : {}),
      }),
    );
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.end(Buffer.from(await answered.arrayBuffer()));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await handler.close();
      await new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      });
    },
  };
}
