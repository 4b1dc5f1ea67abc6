import type * as v from "valibot";
import { formatPath } from "../../../shared/configuration/configuration-paths.ts";
import { configurationSchema } from "../../../shared/configuration/schema.ts";
import { closestWord } from "../../app/suggestion.ts";

/** The parts of valibot's schemas that hold the settings below them. */
interface SchemaParts {
  type: string;
  pipe?: readonly SchemaParts[];
  wrapped?: v.GenericSchema;
  entries?: Record<string, v.GenericSchema>;
  value?: v.GenericSchema;
}

/** Whether this version of gsv knows a setting, and the known one that is most like it. */
export interface SettingName {
  isKnown: boolean;
  /** The path with its first unknown name replaced; absent when there is no known name like it. */
  meant?: string;
}

/** Looks a setting up in the schema of the configuration. Names that a user chooses, such as a channel's, are known. */
export function findSetting(path: readonly string[]): SettingName {
  let schema: v.GenericSchema | undefined = configurationSchema;
  for (const [index, name] of path.entries()) {
    const { type, entries, value } = unwrapped(schema);
    if (type === "record") {
      schema = value;
      continue;
    }
    schema = entries?.[name];
    if (schema !== undefined) continue;
    const closest = closestWord(name, Object.keys(entries ?? {}));
    if (closest === undefined) return { isKnown: false };
    return {
      isKnown: false,
      meant: formatPath([...path.slice(0, index), closest, ...path.slice(index + 1)]),
    };
  }
  return { isKnown: true };
}

/** The schema itself, without the optional value or the pipe around it. */
function unwrapped(schema: v.GenericSchema | undefined): SchemaParts {
  const parts = schema as unknown as SchemaParts;
  if (parts.wrapped) return unwrapped(parts.wrapped);
  return parts.pipe?.[0] ?? parts;
}
