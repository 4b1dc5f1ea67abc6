import { code, type MissingScope } from "../../shared/protocol/errors.ts";
import type { Method } from "../../shared/protocol/methods.ts";
import { readConfigFile } from "../app/config-file.ts";
import { Failure } from "../app/failure.ts";
import { ask, confirm } from "../app/questions.ts";
import type { Settings } from "../app/settings.ts";
import type { Terminal } from "../app/terminal.ts";
import type { Address } from "./address.ts";
import { regionOf } from "./aws-region.ts";
import { type Gateway, openGateway } from "./gateway-client.ts";
import { RequestError } from "./request-error.ts";

/** A token with the scope admin, and when it expires in epoch ms. */
export interface AdminToken {
  token: string;
  until?: number;
}

/** The command that needs admin rights. */
export interface Asking {
  terminal: Terminal;
  settings(): Promise<Settings>;
  address(mayStart?: boolean): Promise<Address>;
  note(text: string): void;
}

/** The options of `gsv admin`. */
export interface AdminOptions {
  stage?: string;
  profile?: string;
  region?: string;
  code?: string;
}

/**
 * A connection that gets admin rights when a method needs them, once for all methods of a command.
 * @param elevate opens a connection with admin rights
 */
export function withAdminRights(gateway: Gateway, elevate: (method: Method) => Promise<Gateway>): Gateway {
  let elevated: Promise<Gateway> | undefined;
  return {
    ...gateway,
    get state() {
      return gateway.state;
    },
    async request(method, params, timeoutMs) {
      try {
        return await gateway.request(method, params, timeoutMs);
      } catch (error) {
        if (!needsAdmin(error)) throw error;
        elevated ??= elevate(method);
        return (await elevated).request(method, params, timeoutMs);
      }
    },
    async close() {
      const [opened] = await Promise.allSettled([elevated]);
      if (opened.status === "fulfilled") await opened.value?.close();
      await gateway.close();
    },
  };
}

function needsAdmin(error: unknown): boolean {
  if (!(error instanceof RequestError) || error.code !== code.forbidden) return false;
  return (error.details as Partial<MissingScope> | undefined)?.scope === "admin";
}

/**
 * Opens a connection with the admin token of the environment, or asks the user at the terminal for admin rights.
 * @throws Failure that names the command to run
 */
export async function openAsAdmin(asking: Asking, method: Method): Promise<Gateway> {
  const { terminal } = asking;
  const { url } = await asking.address(true);
  const given = terminal.env.GSV_ADMIN_TOKEN;
  if (given) return openGateway(url, given).catch((error) => Promise.reject(refused(method, error)));
  const remedy = "run `export GSV_ADMIN_TOKEN=$(gsv admin)`, then this command again";
  if (terminal.stdin.isTTY !== true)
    throw new Failure(code.forbidden, `${method} needs admin rights; ${remedy}`);
  asking.note(`gsv: ${method} needs admin rights`);
  return openGateway(url, (await obtainAdminToken(asking, { asks: true })).token);
}

function refused(method: Method, error: unknown): unknown {
  if (!(error instanceof RequestError) || error.code !== code.unauthorized) return error;
  const message = `${method} needs admin rights, and GSV_ADMIN_TOKEN has expired; run \`export GSV_ADMIN_TOKEN=$(gsv admin)\` again`;
  return new Failure(code.forbidden, message);
}

/**
 * Obtains a token with the scope admin: by AWS credentials for a deployed stage, by a code that a local gateway shows in its
 * terminal, or from the user's word for a local gateway that this command has started.
 * @param options `asks`: ask before the AWS credentials are used, because the user did not run `gsv admin`
 * @throws Failure that says what is missing
 */
export async function obtainAdminToken(
  asking: Asking,
  options: AdminOptions & { asks?: boolean },
): Promise<AdminToken> {
  const { file, url: named } = await asking.settings();
  // There may be no token for this address yet: an embedded gateway gets its first one in this way.
  if (options.stage !== undefined && named) return adminOfStage(options.stage, named.value, options);
  const address = await asking.address(true);
  const { url } = address;
  const { deploy, gateway } = await readConfigFile(file);
  const stage = options.stage ?? (gateway?.url === url ? deploy?.stage : undefined);
  if (stage !== undefined) {
    if (options.asks)
      await confirmed(asking, `Use the AWS credentials of gsv-${stage} for 15 minutes of admin rights?`);
    return adminOfStage(stage, url, options);
  }
  if (address.createAdmin) {
    await confirmed(asking, "Administer this local gateway for 15 minutes?");
    return address.createAdmin();
  }
  if (url.startsWith("ws:")) return byCode(asking, address, options.code);
  throw new Failure(
    "admin",
    "this machine has not deployed the gateway; run `gsv admin --stage NAME` with AWS credentials of its account, or `gsv admin` on the machine that deployed it, and set GSV_ADMIN_TOKEN to its output",
  );
}

async function adminOfStage(
  stage: string,
  url: string,
  { profile, region }: AdminOptions,
): Promise<AdminToken> {
  const { chooseAccount, createStageAdmin } = await import("./stage-access.ts");
  chooseAccount(profile, region ?? regionOf(url));
  return createStageAdmin(stage, url);
}

/** Asks the user, unless there is no terminal. @throws Failure when the user does not agree */
async function confirmed({ terminal }: Asking, question: string): Promise<void> {
  if (terminal.stdin.isTTY !== true)
    throw new Failure(
      code.forbidden,
      "nobody can be asked without a terminal; start the gateway with `gsv dev --serve`, then run `gsv admin`",
    );
  if (!(await confirm(terminal, question))) throw new Failure("cancelled", "nothing was changed");
}

async function byCode(
  asking: Asking,
  { url, token }: Address,
  given: string | undefined,
): Promise<AdminToken> {
  const post = async (body: { code?: string }) => {
    const answer = await fetch(new URL("/admin", url.replace("ws:", "http:")), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const { message, ...result } = (await answer.json().catch(() => ({}))) as Partial<AdminToken> & {
      message?: string;
    };
    if (answer.ok) return result;
    if (![401, 403].includes(answer.status))
      throw new Failure(
        "admin",
        "this gateway shows no codes; start it with `gsv dev`, or pass --stage for a gateway on AWS",
      );
    throw new Failure(answer.status, `${message}; run \`gsv admin\` again`);
  };
  if (given !== undefined) return (await post({ code: given })) as AdminToken;
  await post({});
  if (asking.terminal.stdin.isTTY !== true)
    throw new Failure(
      "code",
      "the gateway shows a code in its terminal; run `gsv admin --code CODE` within two minutes",
    );
  const code = await ask(asking.terminal, "Code that the gateway shows in its terminal");
  return (await post({ code })) as AdminToken;
}
