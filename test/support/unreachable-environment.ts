import { functionEnvironment } from "../aws/emulators/function-environment.ts";

/** Nothing listens on this port. */
const nowhere = "http://127.0.0.1:9";

/** A complete environment for functions that are only imported, and call nobody. */
export const unreachableEnvironment = functionEnvironment({
  dynamodb: nowhere,
  s3: nowhere,
  scheduler: nowhere,
  lambda: nowhere,
  ssm: nowhere,
  connections: nowhere,
  webhook: nowhere,
  page: nowhere,
});
