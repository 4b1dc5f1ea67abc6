// A server without the SDK, of an old protocol: it greets on standard output, and ends at a request before `initialize`.
import { createInterface } from "node:readline";

const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
let isOpen = false;
process.stdout.write("welcome!\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    isOpen = true;
    const serverInfo = { name: "old", version: "1" };
    answer(id, { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo });
  } else if (!isOpen) process.exit(3);
  else if (method === "tools/list")
    answer(id, {
      tools: [{ name: "any.of", inputSchema: { anyOf: [{ required: ["a"] }] } }],
    });
  else if (method === "tools/call")
    answer(id, { content: [{ type: "text", text: JSON.stringify(params.arguments) }] });
});
