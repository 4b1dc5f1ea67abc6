/** The shape of a secret. The label names its kind. */
export type SecretShape = readonly [label: string, shape: RegExp];

/** Keys, tokens and words that are called a password, the more specific ones first. The bounds keep a search linear. */
export const secretShapes: readonly SecretShape[] = [
  ["bearer_jwt", /\bBearer\s+eyJ[\w-]+(?:\.[\w-]+){2}/g],
  ["gsv_token", /(?<![A-Za-z0-9])gsv_[a-z0-9]{6,}_[\w-]{30,}/g],
  ["anthropic_key", /\bsk-ant-[\w-]{20,}/g],
  ["openai_key", /\bsk-[A-Za-z0-9]{20,}|\bsk-(?:proj|svcacct|admin|or-v1)-[\w-]{20,}/g],
  ["aws_access_key", /\bA[KS]IA[A-Z0-9]{16}\b/g],
  ["hex_token_32", /\b[0-9a-fA-F]{32,}\b/g],
  [
    "private_key",
    /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:(?!-----)[\s\S])*-----END [A-Z ]*PRIVATE KEY-----)?/g,
  ],
  ["jwt", /\beyJ[\w-]{8,2000}\.[\w-]{8,}\.[\w-]+/g],
  ["github_token", /\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}/g],
  ["gitlab_token", /\bgl(?:pat|ptt|dt|rt|rtr|cbt|ft|ffct|soat|oas|imt|agent)-[\w.-]{20,}/g],
  ["npm_token", /\bnpm_[A-Za-z0-9]{36,}/g],
  ["hugging_face_token", /\b(?:hf|api_org)_[A-Za-z0-9]{30,}/g],
  ["discord_token", /\b(?:[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}|mfa\.[\w-]{80,})/g],
  ["discord_webhook", /(?<=discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\d{15,20}\/)[\w-]{60,}/g],
  ["slack_token", /\bxox[abeoprs](?:\.xox[bp])?-[\w-]{10,}|\bxapp-[\w-]{20,}/g],
  ["slack_webhook", /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/]{20,}/g],
  ["google_key", /\bAIza[\w-]{30,}|\bGOCSPX-[\w-]{20,}|\bya29\.[\w-]{20,}/g],
  ["meta_token", /\bEAA[A-Za-z0-9]{60,}/g],
  [
    "provider_key",
    /\b(?:gsk_|xai-|pplx-|nvapi-|csk-|fw_|r8_|tvly-|pypi-|dop_v1_|ntn_|lin_api_|ABSK|hvs\.|dckr_pat_|SG\.)[\w.=+/-]{24,}/g,
  ],
  ["stripe_key", /\b[rsw]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9]{16,}/g],
  ["telegram_token", /\b\d{8,10}:[\w-]{35}\b/g],
  ["bearer_token", /(?<=\bBearer\s{1,40})(?=[\w.~+/-]*\d)[\w.~+/-]{20,}=*/gi],
  [
    "aws_secret_key",
    /(?<![\w/+=])(?=[A-Za-z0-9/+]*\d)(?=[A-Za-z0-9/+]*[a-z])(?=[A-Za-z0-9/+]*[A-Z])[A-Za-z0-9/+]{40}(?![\w/+=])/g,
  ],
  ["url_password", /(?<=\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{1,100}:)[^\s@/]+(?=@)/g],
  [
    "password",
    /(?<=\b(?:pass(?:word|phrase|code|wort)|pin|secret|token|api[ _-]?key|contraseña|clave|mot de passe)(?:\\?["'`])?(?:\s{1,40}(?:is|es|ist|est|lautet))?(?:\s{0,40}[:=]|\s)\s{0,40}(?:\\?["'`])?)(?=[^\s"'`]{0,200}[\d!@#$%^&*])[^\s"'`]{4,}/gi,
  ],
  [
    "password",
    /(?<=(?:密码|口令|パスワード|비밀번호)\s{0,40}(?:(?:是|为|は|는|은)\s{0,40})?(?:[:：=]\s{0,40})?)[\x21-\x7e]{4,}/g,
  ],
];

/** The kind of secret in a text; undefined when none is recognized. */
export function findSecret(text: string): string | undefined {
  return secretShapes.find(([, shape]) => text.search(shape) >= 0)?.[0];
}

/** The text with all secrets of these shapes replaced by `[REDACTED:label]`. Irreversible. */
export function redact(text: string, shapes: readonly SecretShape[] = secretShapes): string {
  return shapes.reduce((left, [label, shape]) => left.replace(shape, `[REDACTED:${label}]`), text);
}
