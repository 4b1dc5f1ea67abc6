// @ts-check

/** The program cannot be built or found. The message is one line for the user. */
export class LaunchError extends Error {}

/**
 * Prints the message as every error of the command line is printed, and exits with code 1.
 * @param {string} message
 * @returns {never}
 */
export function endWith(message) {
  if (process.argv.includes("--json")) console.log(JSON.stringify({ error: { code: "launch", message } }));
  else console.error(`gsv: ${message}`);
  process.exit(1);
}
