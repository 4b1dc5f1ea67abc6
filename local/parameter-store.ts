import { createHash } from "node:crypto";
import { arn } from "./http/aws-account.ts";
import { AwsError } from "./http/aws-error.ts";
import { type JsonRecord, stringField } from "./http/json.ts";
import type { JsonFile } from "./json-file.ts";

interface StoredParameter {
  type: ParameterType;
  value: string;
  version: number;
  /** Epoch seconds. */
  lastModified: number;
}

const parameterTypes = ["String", "StringList", "SecureString"] as const;
type ParameterType = (typeof parameterTypes)[number];

/** What `ssm.json` holds: parameters by name. */
export interface ParametersFile {
  parameters: Record<string, StoredParameter>;
}

/** The operations that the parameters are used by. */
export type ParameterOperation =
  | "PutParameter"
  | "GetParameter"
  | "GetParameters"
  | "GetParametersByPath"
  | "DeleteParameter"
  | "DeleteParameters";

export interface Parameters {
  /** By the name of the operation; each takes and returns its JSON form and throws AwsError. */
  operations: Record<ParameterOperation, (input: JsonRecord) => JsonRecord | Promise<JsonRecord>>;
}

/** Characters of a value in the standard tier. */
const maxValueLength = 4096;
const maxPageSize = 10;

export function openParameters(file: JsonFile<ParametersFile>): Parameters {
  const stored = new Map(Object.entries(file.value.parameters));
  const save = () => {
    file.value.parameters = Object.fromEntries(stored);
    return file.save();
  };
  return {
    operations: {
      PutParameter: (input) => putParameter(stored, input, save),
      GetParameter: (input) => {
        const name = nameField(input);
        const parameter = stored.get(name);
        if (parameter === undefined) throw notFound(name);
        return { Parameter: describe(name, parameter, input.WithDecryption === true) };
      },
      GetParameters: (input) => getParameters(stored, input),
      GetParametersByPath: (input) => getParametersByPath(stored, input),
      DeleteParameter: async (input) => {
        const name = nameField(input);
        if (!stored.delete(name)) throw notFound(name);
        await save();
        return {};
      },
      DeleteParameters: async (input) => {
        const names = namesField(input);
        const deleted = names.filter((name) => stored.delete(name));
        await save();
        return {
          DeletedParameters: deleted,
          InvalidParameters: names.filter((name) => !deleted.includes(name)),
        };
      },
    },
  };
}

async function putParameter(
  stored: Map<string, StoredParameter>,
  input: JsonRecord,
  save: () => Promise<void>,
): Promise<JsonRecord> {
  const name = nameField(input);
  checkName(name);
  const value = stringField(input, "Value");
  if (!value) throw new AwsError(400, "ValidationException", "Value must have at least one character");
  if (value.length > maxValueLength) {
    const message = `Standard tier parameters support a maximum parameter value of ${maxValueLength} characters.`;
    throw new AwsError(400, "ValidationException", message);
  }
  const existing = stored.get(name);
  if (existing !== undefined && input.Overwrite !== true) {
    throw new AwsError(
      400,
      "ParameterAlreadyExists",
      "The parameter already exists. To overwrite, set Overwrite.",
    );
  }
  const type = parameterTypes.find((known) => known === input.Type) ?? existing?.type;
  if (type === undefined) throw new AwsError(400, "ValidationException", "A parameter type is required");
  const version = (existing?.version ?? 0) + 1;
  stored.set(name, { type, value, version, lastModified: Date.now() / 1000 });
  await save();
  return { Version: version, Tier: "Standard" };
}

function getParameters(stored: Map<string, StoredParameter>, input: JsonRecord): JsonRecord {
  const names = namesField(input);
  const found: JsonRecord[] = [];
  for (const name of names) {
    const parameter = stored.get(name);
    if (parameter) found.push(describe(name, parameter, input.WithDecryption === true));
  }
  return { Parameters: found, InvalidParameters: names.filter((name) => !stored.has(name)) };
}

/** Pages by name: the token is the last name of the page before. */
function getParametersByPath(stored: Map<string, StoredParameter>, input: JsonRecord): JsonRecord {
  const path = stringField(input, "Path") ?? "";
  if (!path.startsWith("/")) throw new AwsError(400, "ValidationException", "Path must begin with /");
  const pageSize = typeof input.MaxResults === "number" ? input.MaxResults : maxPageSize;
  if (!(pageSize >= 1 && pageSize <= maxPageSize)) {
    throw new AwsError(400, "ValidationException", `MaxResults must be between 1 and ${maxPageSize}`);
  }
  const prefix = path.endsWith("/") ? path : `${path}/`;
  const after = Buffer.from(stringField(input, "NextToken") ?? "", "base64url").toString();
  const matching = [...stored]
    .filter(([name]) => name.startsWith(prefix) && name > after)
    .filter(([name]) => input.Recursive === true || !name.slice(prefix.length).includes("/"))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const page = matching.slice(0, pageSize);
  const last = page.at(-1);
  const more = matching.length > page.length && last !== undefined;
  return {
    Parameters: page.map(([name, parameter]) => describe(name, parameter, input.WithDecryption === true)),
    ...(more ? { NextToken: Buffer.from(last[0]).toString("base64url") } : {}),
  };
}

function describe(name: string, parameter: StoredParameter, decrypt: boolean): JsonRecord {
  const { type, value, version, lastModified } = parameter;
  const readable = decrypt || type !== "SecureString";
  return {
    Name: name,
    Type: type,
    // Without decryption a secure string comes back as ciphertext.
    Value: readable ? value : createHash("sha256").update(value).digest("base64"),
    Version: version,
    LastModifiedDate: lastModified,
    ARN: arn("ssm", `parameter/${name.replace(/^\//, "")}`),
    DataType: "text",
  };
}

/** The naming rules of Parameter Store. @throws AwsError ValidationException */
function checkName(name: string): void {
  const levels = name.split("/").length - (name.startsWith("/") ? 1 : 0);
  const wellFormed = /^[\w.\-/]{1,1011}$/.test(name) && !/\/\/|\/$/.test(name) && levels <= 15;
  const qualified = name.startsWith("/") || !name.includes("/");
  const reserved = /^\/?(aws|ssm)/i.test(name);
  if (wellFormed && qualified && !reserved) return;
  throw new AwsError(400, "ValidationException", `Parameter name ${name} is not valid`);
}

function nameField(input: JsonRecord): string {
  const name = stringField(input, "Name");
  if (!name) throw new AwsError(400, "ValidationException", "Name is required");
  return name;
}

function namesField(input: JsonRecord): string[] {
  const names = Array.isArray(input.Names) ? input.Names.filter((name) => typeof name === "string") : [];
  if (names.length >= 1 && names.length <= 10) return names;
  throw new AwsError(400, "ValidationException", "Names must hold between 1 and 10 names");
}

function notFound(name: string): AwsError {
  return new AwsError(400, "ParameterNotFound", `Parameter ${name} not found.`);
}
