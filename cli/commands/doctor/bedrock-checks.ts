import type { Account, ModelAvailability, Quota } from "../../../shared/aws/account-state.ts";
import { failureOf } from "../../app/failure.ts";
import { checked } from "./checked.ts";
import { type Finding, finding } from "./finding.ts";

/** The model to check, and where. */
interface BedrockModel {
  account: Account;
  region: string;
  /** Id of a model or an inference profile. */
  id: string;
  /** Accept the model's terms if nobody has. */
  acceptTerms: boolean;
  /** There is no gateway yet, so it can be deployed elsewhere. */
  isNew: boolean;
}

/** The regions of each geography with which the ids of Bedrock's inference profiles begin. */
const geographies: Record<string, RegExp> = {
  global: /^/,
  us: /^us-/,
  eu: /^eu-/,
  apac: /^ap-/,
  jp: /^ap-northeast-/,
  au: /^ap-southeast-/,
  ca: /^ca-/,
};

/** Checks that the account may use a model, and the quota of it. */
export async function checkBedrock(asked: BedrockModel): Promise<Finding[]> {
  const { id, region } = asked;
  const [, prefix = "", base = id] = /^([a-z]+)\.([a-z0-9-]+\..+)$/.exec(id) ?? [];
  if (geographies[prefix]?.test(region) === false)
    return [finding("regionWithoutModel", { region, model: id, family: base })];
  const isProfile = prefix !== "";
  const offered = isProfile
    ? await checked("bedrock:GetInferenceProfile", "the inference profile", async () =>
        (await asked.account.hasInferenceProfile(id)) ? [] : notOffered(asked),
      )
    : [];
  if (offered.some(({ state }) => state === "fault")) return offered;
  const [access, quota] = await Promise.all([
    checked("bedrock:GetFoundationModelAvailability", "access to the model", async () => {
      const found = await asked.account.model(base);
      const isElsewhere = found === undefined || (!isProfile && found.regionAvailability !== "AVAILABLE");
      return isElsewhere ? notOffered(asked) : checkAccess(asked, base, found);
    }),
    checked("servicequotas:ListServiceQuotas", "the model's quota", async () =>
      quotaFinding(asked, await asked.account.quotas("bedrock")),
    ),
  ]);
  return [...offered, ...access, ...quota];
}

function notOffered({ id: model, region, isNew }: BedrockModel): Finding {
  return finding(isNew ? "modelElsewhere" : "modelNotOffered", { model, region });
}

async function checkAccess(asked: BedrockModel, base: string, found: ModelAvailability): Promise<Finding[]> {
  const { id: model, region, account } = asked;
  const { agreementAvailability, authorizationStatus, entitlementAvailability } = found;
  if (authorizationStatus !== "AUTHORIZED") return [finding("modelNotAuthorized", { model, base, region })];
  if (agreementAvailability.status === "PENDING") return [finding("modelTermsPending", { model })];
  if (agreementAvailability.status === "AVAILABLE" && entitlementAvailability === "AVAILABLE")
    return [finding("modelOffered", { model, region })];
  // An account that may use the model has sent the form, or was allowed to before there was one.
  const form = /^anthropic\./.test(base)
    ? await checked("bedrock:GetUseCaseForModelAccess", "Anthropic's form", async () =>
        (await account.hasUseCase()) ? [] : finding("modelFormMissing", { model, region }),
      )
    : [];
  if (form.some(({ state }) => state === "fault")) return form;
  return [...form, asked.acceptTerms ? await accept(asked, base) : finding("modelTerms", { model })];
}

async function accept({ account, id: model }: BedrockModel, base: string): Promise<Finding> {
  try {
    if (await account.acceptTerms(base)) return finding("modelAccepted", { model });
    return finding("modelTermsRefused", { model, reason: "AWS offers none to this account" });
  } catch (error) {
    return finding("modelTermsRefused", { model, reason: failureOf(error).message });
  }
}

/** Below this quota of tokens per minute, a turn of a few calls has to wait. */
const fewTokens = 100_000;

function quotaFinding({ id, region }: BedrockModel, quotas: readonly Quota[]): Finding {
  // Quota names call `global.anthropic.claude-sonnet-4-6` “Claude Sonnet 4.6”.
  const [, family = "", major = "", minor] = /claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?!\d)/.exec(id) ?? [];
  const version = minor === undefined ? major : `${major}.${minor}`;
  const model = family === "" ? id : `Claude ${family[0]?.toUpperCase()}${family.slice(1)} ${version}`;
  // The quotas of “Sonnet 4.6” and of long contexts are others than those of “Sonnet 4”.
  const named = new RegExp(`tokens per minute for .*${model.replaceAll(".", "\\.")}(?![.\\d])(?!.* 1M)`, "i");
  const ofModel = quotas.filter(({ QuotaName }) => named.test(QuotaName));
  const ofKind = ofModel.filter(({ QuotaName }) => kindOf(id).test(QuotaName));
  const [quota] = (ofKind.length > 0 ? ofKind : ofModel).sort((a, b) => b.Value - a.Value);
  if (quota === undefined) return finding("quotaUnnamed", { model, region });
  const { Value: tokens, QuotaCode: code } = quota;
  if (tokens === 0) return finding("quotaNoTokens", { model, region, code });
  if (tokens < fewTokens) return finding("quotaFewTokens", { model, tokens, region, code });
  return finding("quotaTokens", { model, tokens, region });
}

/** The beginning of the names of the quotas that count for a model's id. */
function kindOf(id: string): RegExp {
  if (id.startsWith("global.")) return /^Global /i;
  return /^[a-z]+\.[a-z0-9-]+\./.test(id) ? /^Cross-region/i : /^On-demand/i;
}
