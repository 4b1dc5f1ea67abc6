// A server of the SDK on standard input and output, with the tools that the tests need.
import { spawn } from "node:child_process";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const fields = (entries) => toStandardJsonSchema(v.object(entries));

/** @param marker of the process that `child` starts */
const [, , marker = "sleep 1"] = process.argv;

function create() {
  const server = new McpServer(
    { name: "fixture", version: "1" },
    { capabilities: { tools: { listChanged: true } } },
  );
  const tool = (name, inputSchema, run) =>
    server.registerTool(name, { description: `does ${name}`, inputSchema }, run);
  tool("echo", fields({ text: v.string() }), async (args) => text(args.text));
  tool("slow", fields({ ms: v.number() }), async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return text(`after ${ms}`);
  });
  tool("secret", fields({}), async () =>
    text(`key ${process.env.API_KEY}, home ${process.env.HOME}, other ${process.env.OTHER}`),
  );
  tool("fail", fields({}), async () => ({ ...text(`refused for ${process.env.API_KEY}`), isError: true }));
  tool("child", fields({}), async () => {
    spawn("sh", ["-c", `${marker}; true`], { stdio: "inherit" });
    return text("started");
  });
  tool("picture", fields({}), async () => ({
    content: [{ type: "image", mimeType: "image/png", data: Buffer.from("png").toString("base64") }],
  }));
  tool("grow", fields({}), async () => {
    tool("grown", fields({}), async () => text("grown"));
    return text("there is another");
  });
  return server;
}

process.stderr.write(`starting with ${process.env.API_KEY}\n`);
serveStdio(create);
