import type { Bad, Good } from "./finding-entry.ts";

/** The findings about a model of Amazon Bedrock, and about the quotas that limit a gateway. */
export const bedrockFindings = {
  modelOffered: { check: "model", state: "ok", found: "this account may use {model} in {region}" },
  modelAccepted: { check: "model", state: "ok", found: "accepted the terms of {model}" },
  modelElsewhere: {
    check: "model",
    state: "fault",
    found: "Bedrock does not offer {model} in {region}",
    todo: "gsv deploy --region us-east-1",
  },
  modelNotOffered: {
    check: "model",
    state: "fault",
    found: "Bedrock does not offer {model}, the gateway's model, in {region}",
    todo: "gsv config set model.id global.anthropic.claude-sonnet-4-6",
  },
  modelFormMissing: {
    check: "model",
    state: "fault",
    found: "Anthropic requires its form about your use case before {model} answers",
    cause: "The form is sent once per account, also by a first message in the Bedrock console's playground.",
    todo: "aws bedrock put-use-case-for-model-access --form-data fileb://form.json --region {region}",
  },
  modelTerms: {
    check: "model",
    state: "fault",
    found: "nobody has accepted the terms of {model} in this account",
    todo: "gsv deploy --accept-model-terms",
  },
  modelTermsRefused: {
    check: "model",
    state: "fault",
    found: "the terms of {model} could not be accepted: {reason}",
    cause: "The credentials need bedrock:CreateFoundationModelAgreement and aws-marketplace:Subscribe.",
    todo: "gsv deploy --accept-model-terms --profile NAME",
  },
  modelTermsPending: {
    check: "model",
    state: "warning",
    found: "AWS is still processing the accepted terms of {model}",
    cause: "This can last 15 minutes.",
    todo: "gsv deploy status",
  },
  modelNotAuthorized: {
    check: "model",
    state: "fault",
    found: "this account is not authorized to use {model}",
    cause: "A policy of the account or its organization denies it.",
    todo: "aws bedrock get-foundation-model-availability --model-id {base} --region {region}",
  },

  quotaFunctions: { check: "quota", state: "ok", found: "{executions} functions may run concurrently" },
  quotaFewFunctions: {
    check: "quota",
    state: "warning",
    found:
      "only {executions} functions may run concurrently, so at most {agents} sessions are answered at a time",
    cause:
      "A new AWS account has a low quota of concurrent executions. The other sessions wait for their turn (docs/operations.md, “The quota of Lambda”).",
    todo: "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000 --region {region}",
  },
  quotaUnnamed: { check: "quota", state: "skipped", found: "AWS lists no quota of {model} in {region}" },
  quotaTokens: { check: "quota", state: "ok", found: "{model}: {tokens} tokens a minute in {region}" },
  quotaFewTokens: {
    check: "quota",
    state: "warning",
    found: "{model}: only {tokens} tokens a minute in {region}",
    cause:
      "A new AWS account has a low quota, so turns have to wait (docs/operations.md, “The quota of Bedrock”).",
    todo: "aws service-quotas request-service-quota-increase --service-code bedrock --quota-code {code} --desired-value 1000000 --region {region}",
  },
  quotaNoTokens: {
    check: "quota",
    state: "fault",
    found: "{model} may not be used in {region}: its quota is 0 tokens a minute",
    cause: "A new AWS account can have no quota of a model (docs/operations.md, “The quota of Bedrock”).",
    todo: "aws service-quotas request-service-quota-increase --service-code bedrock --quota-code {code} --desired-value 1000000 --region {region}",
  },
} as const satisfies Record<string, Good | Bad>;
