import { writeFileSync } from "node:fs";
import { failureOf } from "../../cli/app/failure.ts";
import type { Trouble } from "../../cli/app/template.ts";
import { noSystemd } from "../../cli/commands/daemon/systemd.ts";
import { findings } from "../../cli/commands/doctor/findings.ts";
import { nodeService } from "../../cli/commands/node/supervised-node.ts";
import { gatewayTroubles } from "../../cli/gateway/address.ts";
import { endedFor, finalEnd } from "../../cli/gateway/refusal.ts";
import { type FailedCall, failureSentence } from "../../functions/agent/model/failure-sentence.ts";
import { explainFailure } from "../../functions/agent/model/model-failure.ts";
import type { Refusal } from "../../shared/channels/inbound/admission.ts";

/** The page that `troubleshootingPage` generates. */
export const pageFile = "docs/troubleshooting.md";

/** The faults and warnings of `gsv doctor` that come from some of its checks. */
function fromDoctor(...checks: string[]): Trouble[] {
  return Object.values(findings).flatMap((finding) =>
    (finding.state === "fault" || finding.state === "warning") && checks.includes(finding.check)
      ? [{ ...finding, symptom: `${finding.check}: ${finding.found}`, remedy: finding.todo }]
      : [],
  );
}

/** A trouble of a text of the form `symptom; remedy`. @throws Error for a text without a remedy */
function fromText(text: string, cause?: string): Trouble {
  const [, symptom, remedy] = /^(.+?); (.+)$/.exec(text) ?? [];
  if (symptom === undefined || remedy === undefined) throw new Error(`no remedy in: ${text}`);
  return { symptom, cause, remedy };
}

/** What a command or a node prints when the gateway ends its connection. */
function refusals(): Trouble[] {
  const error = { code: 1006, reason: "HTTP 401", status: 401 };
  const printed = (refusal: Error | undefined) => failureOf(refusal).message;
  return [
    fromText(printed(finalEnd(error, 1)), "The token is unknown or revoked."),
    fromText(
      printed(finalEnd({ ...error, status: 403 }, Number.POSITIVE_INFINITY)).replace("): ", "); "),
      "The address is not that of this gateway, or the stage requires the token in a header.",
    ),
    fromText(printed(endedFor("revoked", "{id}"))),
    {
      symptom: printed(endedFor("superseded", "{id}")),
      remedy: "stop one of the two, or choose another id with --id",
    },
  ];
}

/** What an answer says whose model could not be asked. */
function modelFailures(): Trouble[] {
  const call: FailedCall = {
    chosen: { provider: "{provider}", id: "{model}" },
    address: "http://127.0.0.1:11434/v1",
    words: "",
  };
  const text = (failed: Partial<FailedCall>) => failureSentence({ ...call, ...failed })?.text ?? "";
  const marketplace = explainFailure(
    {
      ...{ errorMessage: "… aws-marketplace …", content: [], api: "bedrock-converse-stream" },
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: noCost },
    },
    call,
  ).error;
  const [, symptom = "", remedy = ""] = /^(.*) \((.*)\.\)$/.exec(marketplace) ?? [];
  return [
    fromText(
      text({ unreachable: "ECONNREFUSED" }),
      "The model's server is not running, or listens at another address.",
    ),
    fromText(
      text({ unreachable: "ENOTFOUND", address: "{address}" }),
      "The address is misspelt, or the gateway on AWS cannot see your network.",
    ),
    fromText(text({ status: 401 }), "The key is wrong, expired, or another provider's."),
    fromText(text({ status: 402 })),
    fromText(text({ status: 404, words: "model" }), "The server has not downloaded this model."),
    {
      symptom: text({ status: 429 }),
      cause: "The provider limits tokens or requests per minute.",
      remedy: "wait, the call is repeated; if it recurs, request a higher limit or choose another model",
    },
    {
      symptom: text({ status: 529 }),
      remedy: "wait, the call is repeated; or choose another model with /model",
    },
    { symptom, cause: "Nobody has opened the model in this AWS account yet.", remedy },
  ];
}

const noCost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** Why a message of a channel is blocked, as the log's line `webhook.message` has it. */
const blocked: Record<Refusal, Omit<Trouble, "symptom">> = {
  closed: {
    cause: "The channel has no `dmPolicy`.",
    remedy: "gsv config set channels.{channel}.dmPolicy pairing",
  },
  allowlist: {
    cause: "The sender is in neither `allowFrom` nor `owners`.",
    remedy: "add the line's `senderId` to one of them",
  },
  full: { cause: "25 pairing requests already wait.", remedy: "approve or reject some: `gsv pair list`" },
  stopped: { remedy: "gsv channel start {channel}" },
  "not mentioned": { remedy: "in a room, mention the agent or reply to it" },
  empty: { remedy: "send text or a file" },
};

/** Other lines of the webhook's log. */
const webhookLines: Trouble[] = [
  ...Object.entries(blocked).map(([reason, trouble]) => ({
    symptom: `log: webhook.message, blocked, ${reason}`,
    ...trouble,
  })),
  {
    symptom: "log: webhook.message, pending_pairing",
    cause: "The sender waits for approval.",
    remedy: "gsv pair list",
  },
  {
    symptom: "log: webhook.refused, 401",
    cause: "The secret, signing secret or public key differs from the platform's.",
    remedy: "gsv channel add {channel}",
  },
  {
    symptom: "log: webhook.refused, 404",
    cause: "The webhook's path is not `/{channel}/{account}` in lower case.",
    remedy: "set the address that `gsv channel status` shows",
  },
  {
    symptom: "log: webhook.refused, 503",
    cause: "The account is not configured, or lacks the setting that `reason` names.",
    remedy: "gsv channel add {channel}",
  },
  {
    symptom: "log: channel.failed or channel.undelivered",
    cause: "The platform refused the answer; `reason` is its text.",
    remedy: "gsv channel status {channel}",
  },
];

/** The symptoms, by what a user was doing. */
const chapters: Record<string, () => Trouble[]> = {
  "A command finds no gateway, or is refused": () => [
    ...Object.values(gatewayTroubles),
    ...fromDoctor("gateway", "token", "admin"),
    ...refusals(),
  ],
  "The agent does not answer": () => [
    ...fromDoctor("model"),
    ...modelFailures(),
    ...fromDoctor("region", "quota"),
  ],
  "AWS is not ready for a deployment": () => fromDoctor("aws", "bootstrap", "stack"),
  "A messenger gets no answer": () => [...fromDoctor("channels"), ...webhookLines],
  "This machine": () => [
    ...fromDoctor("node", "config", "ports", "sweep", "clock"),
    fromText(noSystemd(nodeService), "A container, or WSL without systemd, has no services of a user."),
  ],
};

const intro = `# Troubleshooting

\`\`\`sh
npx gsv doctor                  # checks this machine, the gateway, its model and its channels
npx gsv logs --gateway          # the gateway's log
npx gsv logs --node laptop      # a node's log
\`\`\`

Search this page for what you see. The texts are those of the commands: \`npm run docs:troubleshooting\` generates this page.
When a part of a deployment fails, see the runbooks in [operations](operations.md).
`;

/** A remedy as a sentence, or as code if it is only a command. */
function instruction(text: string): string {
  if (/^(?:gsv|chmod|aws|curl|npx) /.test(text)) return `\`${text}\``;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The text of docs/troubleshooting.md, from the texts that users see. */
export function troubleshootingPage(): string {
  const tables = Object.entries(chapters).map(([heading, troubles]) => {
    const rows = troubles().map(
      ({ symptom, cause, remedy }) => `- **${symptom}**: ${cause ? `${cause} ` : ""}${instruction(remedy)}`,
    );
    return [`\n## ${heading}\n`, ...rows, ""].join("\n");
  });
  return intro + tables.join("");
}

if (process.argv[1] === import.meta.filename) writeFileSync(pageFile, troubleshootingPage());
