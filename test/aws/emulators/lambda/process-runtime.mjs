/**
 * One instance of a function: loads the bundle that its argument names and runs one event after the other, as the
 * Lambda runtime does. Plain JavaScript, because it runs in a bare Node process.
 *
 * Receives `{id, event, context, trace}` and answers `{id, value}` or `{id, error}`; sends `{failed}` when it cannot load.
 * A handler that streams its response has it collected: the host gets the whole answer.
 * An error the handler does not catch ends the process, as on Lambda. `{env}` makes it a new instance: it evaluates
 * the handler's module again in that environment. The chunks that the module imports stay loaded.
 */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [, , entry] = process.argv;
const url = pathToFileURL(entry).href;

// The host process has ended.
process.on("disconnect", () => process.exit(0));

globalThis.awslambda = {
  streamifyResponse: (handle) => async (event, context) => {
    const stream = new PassThrough();
    const body = text(stream);
    await handle(event, stream, context);
    return { ...stream.start, body: await body };
  },
  HttpResponseStream: { from: (stream, start) => Object.assign(stream, { start }) },
};

const describe = (error) => ({
  errorType: error?.name ?? "Error",
  errorMessage: error?.message ?? String(error),
  trace: String(error?.stack ?? "").split("\n"),
});

/** Resolves with the handler of a module. Ends the process when there is none. */
async function load(module) {
  const loaded = await import(module).catch((error) => ({ failed: describe(error) }));
  if (typeof loaded.handler === "function") return loaded.handler;
  const missing = {
    errorType: "Runtime.HandlerNotFound",
    errorMessage: "handler is undefined or not exported",
  };
  process.send({ failed: loaded.failed ?? missing }, () => process.exit(1));
  return new Promise(() => undefined);
}

let handler = await load(url);
let renewals = 0;

/** Handles the messages in the order in which they came: an event waits for the module of its host. */
let renewed = Promise.resolve();

async function renew(env) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  renewals += 1;
  handler = await load(`${url}?${renewals}`);
}

async function run({ id, event, trace, context: { deadline, ...fields } }) {
  await renewed;
  // With these two the AWS SDK sends the trace header of the event with each call that the handler makes.
  process.env.AWS_LAMBDA_FUNCTION_NAME = fields.functionName;
  process.env._X_AMZN_TRACE_ID = trace;
  const context = { ...fields, getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
  try {
    const value = await handler(event, context);
    process.send({ id, value: value ?? null });
  } catch (error) {
    process.send({ id, error: describe(error) });
  }
}

process.on("message", (message) => {
  if (message.env) renewed = renew(message.env);
  else void run(message);
});
