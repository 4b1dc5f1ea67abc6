import { type KeyRules, sessionKind } from "../session/key/session-key.ts";
import { audienceOf } from "../workspace/privacy.ts";

/** The kind of a conversation; it starts with `from a` when others than the owner write there. */
export function sourceOf(sessionKey: string, rules: KeyRules): string {
  const kind = sessionKind(sessionKey, rules);
  return audienceOf(kind) === "shared" ? `from a ${kind}` : kind;
}
