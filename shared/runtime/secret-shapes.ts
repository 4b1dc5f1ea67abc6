/** The shape of a secret. The label names its kind. */
export type SecretShape = readonly [label: string, shape: RegExp];

/** Keys and tokens, the more specific ones first. */
export const keyShapes: readonly SecretShape[] = [
  ["bearer_jwt", /\bBearer\s+eyJ[\w-]+(?:\.[\w-]+){2}/g],
  ["anthropic_key", /\bsk-ant-[\w-]{20,}/g],
  ["openai_key", /\bsk-[A-Za-z0-9]{20,}|\bsk-(?:proj|svcacct)-[\w-]{20,}/g],
  ["aws_access_key", /\bA[KS]IA[A-Z0-9]{16}\b/g],
  ["hex_token_32", /\b[0-9a-fA-F]{32,}\b/g],
];

/** Secrets in conversations: more kinds of keys, and words that are called a password. */
const saidShapes: readonly SecretShape[] = [
  ["private_key", /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----)?/g],
  ["jwt", /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+/g],
  ["github_token", /\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}/g],
  ["slack_token", /\bxox[abeoprs]-[\w-]{10,}/g],
  ["google_key", /\bAIza[\w-]{30,}/g],
  ["stripe_key", /\b[rsw]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9]{16,}/g],
  ["telegram_token", /\b\d{8,10}:[\w-]{35}\b/g],
  [
    "aws_secret_key",
    /(?<![\w/+=])(?=[A-Za-z0-9/+]*\d)(?=[A-Za-z0-9/+]*[a-z])(?=[A-Za-z0-9/+]*[A-Z])[A-Za-z0-9/+]{40}(?![\w/+=])/g,
  ],
  ["url_password", /(?<=\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{1,100}:)[^\s@/]+(?=@)/g],
  [
    "password",
    /(?<=\b(?:pass(?:word|phrase|code|wort)|pin|secret|token|api[ _-]?key|contraseña|clave|mot de passe)(?:\s+(?:is|es|ist|est|lautet))?\s*[\s:=]\s*["'`]?)(?=[^\s"'`]*[\d!@#$%^&*])[^\s"'`]{4,}/gi,
  ],
  ["password", /(?<=(?:密码|口令|パスワード|비밀번호)\s*(?:是|为|は|는|은)?\s*[:：=]?\s*)[\x21-\x7e]{4,}/g],
];

const allShapes = [...keyShapes, ...saidShapes];

/** The kind of secret in a text; undefined when none is recognized. */
export function findSecret(text: string): string | undefined {
  return allShapes.find(([, shape]) => text.search(shape) >= 0)?.[0];
}

/** The text with all secrets of these shapes replaced by `[REDACTED:label]`. Irreversible. */
export function redact(text: string, shapes: readonly SecretShape[] = allShapes): string {
  return shapes.reduce((left, [label, shape]) => left.replace(shape, `[REDACTED:${label}]`), text);
}
