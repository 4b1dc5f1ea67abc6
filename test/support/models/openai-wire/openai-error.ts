import type { ShapeFault } from "./request-shape.ts";

/** The inside of an OpenAI error answer. */
export interface OpenAiFault {
  message: string;
  type?: string;
  param?: string | null;
  code?: string | null;
}

/** The body of an OpenAI error answer (API reference, "Errors"); `type` is invalid_request_error unless given. */
export function openAiError(fault: OpenAiFault): { error: Required<OpenAiFault> } {
  const { message, type = "invalid_request_error", param = null, code = null } = fault;
  return { error: { message, type, param, code } };
}

/** `["messages", 0, "role"]` as OpenAI writes it: `messages[0].role`. */
export function openAiPath(path: (string | number)[]): string {
  return path.map((step, i) => (typeof step === "number" ? `[${step}]` : i ? `.${step}` : step)).join("");
}

/** A shape fault in OpenAI's words. */
export function openAiShapeFault(fault: ShapeFault): OpenAiFault {
  const param = openAiPath(fault.path);
  if (param === "") return { message: "We could not parse the JSON body of your request." };
  if (fault.missing)
    return { message: `Missing required parameter: '${param}'.`, param, code: "missing_required_parameter" };
  if (fault.check === "min_length")
    return {
      message: `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      param,
      code: "empty_array",
    };
  if (fault.check === "variant" || fault.check === "picklist") {
    const supported = fault.expected
      .replace(/^\(|\)$/g, "")
      .replaceAll(" | ", ", ")
      .replaceAll('"', "'");
    const found = fault.received.replaceAll('"', "'");
    return {
      message: `Invalid value: ${found}. Supported values are: ${supported}.`,
      param,
      code: "invalid_value",
    };
  }
  return {
    message: `Invalid type for '${param}': expected ${fault.expected}, but got ${fault.received} instead.`,
    param,
    code: "invalid_type",
  };
}
