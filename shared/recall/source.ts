import { type KeyRules, sessionKind } from "../session/key/session-key.ts";
import { audienceOf } from "../workspace/privacy.ts";

/** What kind of conversation something was said in; where others than the owner write it begins with `from a`. */
export function sourceOf(sessionKey: string, rules: KeyRules): string {
  const kind = sessionKind(sessionKey, rules);
  return audienceOf(kind) === "shared" ? `from a ${kind}` : kind;
}
