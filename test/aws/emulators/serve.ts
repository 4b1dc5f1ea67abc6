/**
 * `npm run serve:aws`: a local gateway, with the AWS emulators over its stores for other programs.
 */
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { untilSignal } from "../../../cli/app/signals.ts";
import { findDataFolder } from "../../../cli/gateway/data-folder.ts";
import { openGateway } from "../../../cli/gateway/gateway-client.ts";
import { chosenModel, configureModel, startLocal } from "../../../cli/gateway/local-gateway.ts";
import { bucketName, ssmPrefix, tableName } from "../../../local/cloud-names.ts";
import type { Dev } from "../../../local/dev/dev.ts";
import { startServices } from "./emulators.ts";

const usage = `Serves a local gateway, and its stores over the AWS protocols.

  npm run serve:aws -- [--port NUMBER] [--data FOLDER] [--json]

  --port NUMBER  port of the WebSocket API; 0 for a free one
  --data FOLDER  data folder of the gateway; the folder that \`gsv dev\` uses by default
  --json         print one line of JSON when ready: ws, webhook, dynamodb, s3, scheduler, lambda, ssm, table, bucket,
                 accessKeyId, secretAccessKey, token, pid

\`gsv admin --stage local\` gives admin rights to a program that signs with the access key.
Each start creates a new one. The emulators refuse requests that another key signs. Ctrl-C ends it.
`;

const { values: options } = parseArgs({
  options: {
    data: { type: "string" },
    help: { type: "boolean" },
    json: { type: "boolean" },
    port: { type: "string" },
  },
});

/** Configures the model and writes the agent's first files, as `gsv dev` does. */
async function prepare(dev: Dev): Promise<void> {
  const gateway = await openGateway(dev.url, dev.token);
  await configureModel(dev, chosenModel(process.env));
  if (!dev.hasAgent) {
    await gateway.request("agent.init", {});
    await dev.recordAgent();
  }
  await gateway.close();
}

async function serve(): Promise<void> {
  const signal = untilSignal();
  const dir = options.data === undefined ? findDataFolder(process.cwd()) : resolve(options.data);
  const dev = await startLocal(dir, options.port === undefined ? {} : { port: Number(options.port) });
  try {
    // The emulators verify no signature: the id itself is the secret.
    const accessKeyId = `GSV${randomBytes(16).toString("hex").toUpperCase()}`;
    const { machine, ws, webhook } = dev.cloud;
    const urls = await startServices(machine, (request) => request.accessKeyId === accessKeyId);
    await machine.savePorts();
    const outputs = {
      "websocket-url": ws,
      "webhook-url": webhook,
      "table-name": tableName,
      "bucket-name": bucketName,
    };
    for (const [name, Value] of Object.entries(outputs))
      await machine.parameters.operations.PutParameter({
        ...{ Name: `${ssmPrefix}/${name}`, Value, Type: "String", Overwrite: true },
      });
    await prepare(dev);
    const ready = {
      ws,
      webhook,
      ...urls,
      table: tableName,
      bucket: bucketName,
      accessKeyId,
      secretAccessKey: randomBytes(20).toString("hex"),
      token: dev.token,
      pid: process.pid,
    };
    const lines = Object.entries(ready).map(([name, value]) => `${name.padEnd(16)} ${value}`);
    process.stdout.write(`${options.json ? JSON.stringify(ready) : lines.join("\n")}\n`);
    await signal.received;
  } finally {
    await dev.close();
    signal.dispose();
  }
}

const isPort = options.port === undefined || /^\d{1,5}$/.test(options.port);
if (options.help) {
  process.stdout.write(usage);
} else if (!isPort) {
  process.stderr.write(`--port is not a number: ${options.port}\n\n${usage}`);
  process.exitCode = 2;
} else {
  await serve().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  });
}
