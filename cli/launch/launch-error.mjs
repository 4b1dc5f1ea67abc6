// @ts-check

/** The program cannot be built or found. The message is one line for the user. */
export class LaunchError extends Error {}

/**
 * Ends the process with exit code 1, and tells why: in the shape of all errors of the command line.
 * @param {string} message
 * @returns {never}
 */
export function endWith(message) {
  if (process.argv.includes("--json")) console.log(JSON.stringify({ error: { code: "launch", message } }));
  else console.error(`gsv: ${message}`);
  process.exit(1);
}
