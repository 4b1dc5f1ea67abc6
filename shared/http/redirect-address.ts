/** Schemes by which a browser would run code or read files. */
const wrongSchemes = ["javascript:", "data:", "vbscript:", "file:", "blob:", "about:", "view-source:"];

/** Hosts to which a program on the user's own machine listens. */
const ownMachine = ["127.0.0.1", "localhost", "[::1]"];

/** Whether a browser may be sent to an address of a program: https, http on the user's machine, or the program's own scheme. */
export function isRedirectAddress(text: string): boolean {
  if (!URL.canParse(text) || /[\s#\\]/.test(text)) return false;
  const { protocol, hostname, username } = new URL(text);
  if (username !== "" || wrongSchemes.includes(protocol)) return false;
  return protocol !== "http:" || ownMachine.includes(hostname);
}
