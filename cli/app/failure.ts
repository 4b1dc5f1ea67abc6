import { code, PeerError } from "../../shared/protocol/errors.ts";
import { RequestError } from "../gateway/request-error.ts";

/** Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted with Ctrl-C. */
export const exitCode = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/**
 * An error that is printed to the user. `message` is one line: what is wrong, and what to do. `kind` is
 * printed as `error.code` with `--json`: a word, or the gateway's numeric error code.
 */
export class Failure extends Error {
  readonly kind: string | number;
  readonly exitCode: number;

  constructor(kind: string | number, message: string, exit: number = exitCode.failed) {
    super(message);
    this.name = "Failure";
    this.kind = kind;
    this.exitCode = exit;
  }
}

/** A Failure for wrong arguments or options; exit code 2. */
export function usage(message: string): Failure {
  return new Failure("usage", message, exitCode.usage);
}

const hints: Partial<Record<number, string>> = {
  [code.notConnected]: "is the gateway running? `gsv status` shows what is configured",
  [code.unauthorized]:
    "check the token (--token, GSV_TOKEN or the config file), or create one with `gsv token create`",
  [code.forbidden]: "use a token with the scope this needs (`gsv token create NAME --scopes SCOPE`)",
  [code.unavailable]: "start a node with `gsv node`, or try again",
  [code.tooLarge]: "send it in smaller parts",
  [code.rateLimited]: "wait a moment and try again",
};

const systemFaults: Record<string, string> = {
  EACCES: "no permission",
  EPERM: "no permission",
  EROFS: "the file system is read-only",
  ENOENT: "no such file or folder",
  EISDIR: "that is a folder",
  ENOTDIR: "a part of that path is not a folder",
  ENOSPC: "the disk is full",
  EADDRINUSE: "the port is in use",
};

/**
 * Converts any thrown value to a Failure. Every error that a command throws is printed through this function.
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof RequestError || error instanceof PeerError) {
    const hint = hints[error.code];
    return new Failure(error.code, hint ? `${error.message}; ${hint}` : error.message);
  }
  if (!(error instanceof Error)) return new Failure("internal", oneLine(String(error)));
  const { code: errno, path } = error as NodeJS.ErrnoException;
  const fault = errno === undefined ? undefined : systemFaults[errno];
  if (fault !== undefined) return new Failure(errno ?? "internal", path ? `${path}: ${fault}` : fault);
  return new Failure(typeof errno === "string" ? errno : "internal", oneLine(error.message || error.name));
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").trim();
}
