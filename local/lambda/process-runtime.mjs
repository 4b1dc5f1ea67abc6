/**
 * One instance of a function: loads the bundle that its argument names and runs one event after the other, as the
 * Lambda runtime does. Plain JavaScript, because it runs in a bare Node process.
 *
 * Receives `{id, event, context, trace}` and answers `{id, value}` or `{id, error}`; sends `{failed}` when it cannot load.
 * An error the handler does not catch ends the process, as on Lambda.
 */
import { pathToFileURL } from "node:url";

const [, , entry] = process.argv;

// The host process has ended.
process.on("disconnect", () => process.exit(0));

const describe = (error) => ({
  errorType: error?.name ?? "Error",
  errorMessage: error?.message ?? String(error),
  trace: String(error?.stack ?? "").split("\n"),
});

const loaded = await import(pathToFileURL(entry).href).catch((error) => ({ failed: describe(error) }));
const { handler } = loaded;

if (typeof handler === "function") {
  process.on("message", ({ id, event, trace, context: { deadline, ...fields } }) => {
    // With these two the AWS SDK sends the trace header of the event with each call that the handler makes.
    process.env.AWS_LAMBDA_FUNCTION_NAME = fields.functionName;
    process.env._X_AMZN_TRACE_ID = trace;
    const context = { ...fields, getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
    new Promise((resolve) => resolve(handler(event, context))).then(
      (value) => process.send({ id, value: value ?? null }),
      (error) => process.send({ id, error: describe(error) }),
    );
  });
} else {
  const missing = {
    errorType: "Runtime.HandlerNotFound",
    errorMessage: "handler is undefined or not exported",
  };
  process.send({ failed: loaded.failed ?? missing }, () => process.exit(1));
}
