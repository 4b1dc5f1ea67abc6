import type { Api, Model } from "@earendil-works/pi-ai";
import { compatibleProvider } from "../../../../shared/session/commands/model-key.ts";
import type { WireRules } from "../../../../shared/wire/wire-messages.ts";

/** Models of Mistral, whichever provider or server runs them. */
const mistralModel = /(mis|minis|magis)tral|mixtral|codestral|devstral|pixtral|voxtral/i;

/** The rules for a model. An unknown server may run any model, so the stricter rules of turns apply to it. */
export function rulesOf({ api, provider, id }: Pick<Model<Api>, "api" | "provider" | "id">): WireRules {
  const isMistral = api === "mistral-conversations" || mistralModel.test(id);
  return { callId: callIdOf(api, isMistral), alternates: isMistral || provider === compatibleProvider };
}

function callIdOf(api: Api, isMistral: boolean): RegExp {
  switch (api) {
    case "mistral-conversations":
      return /^[A-Za-z0-9]{9}$/;
    case "openai-completions":
      return isMistral ? /^[A-Za-z0-9]{9}$/ : /^[A-Za-z0-9_-]{1,40}$/;
    case "openai-responses":
      // pi-ai joins the id of the call and that of its item with a bar.
      return /^[A-Za-z0-9_-]{1,64}(\|fc_[A-Za-z0-9_-]{1,61})?$/;
    default:
      return /^[A-Za-z0-9_-]{1,64}$/;
  }
}
