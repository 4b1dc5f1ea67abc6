import { moment } from "../../app/columns.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { obtainAdminToken } from "../../gateway/admin-rights.ts";

/** Prints a token with the scope admin. It is stored nowhere on this machine. */
export const admin: Action = async (context, { options }) => {
  const { token, until } = await obtainAdminToken(context, {
    stage: text(options.stage),
    profile: text(options.profile),
    region: text(options.region),
    code: text(options.code),
  });
  context.note(`gsv: commands use it as GSV_ADMIN_TOKEN until ${moment(until)}`);
  context.printExactly({ token, until }, token);
};
