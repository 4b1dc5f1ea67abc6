import { functionNames } from "../../infra/permissions.ts";
import { scheduleGroup } from "../../local/cloud-names.ts";
import type { TemplateJson } from "./synthesis.ts";

type Resource = TemplateJson["Resources"][string];

/**
 * One gateway of a stack with several, under the names of the local cloud instead of generated ones.
 * @param id the id of its construct
 */
export function gatewayIn({ Resources, Outputs }: TemplateJson, id: string): TemplateJson {
  const own = Object.entries(Resources).filter(([one]) => one.startsWith(id));
  const named = own.map(([one, resource]) => [one, withName(resource, one.slice(id.length))] as const);
  const nameOf = (type: string, pattern: RegExp, key: string) =>
    own.map(([, { Type, Properties }]) =>
      Type === type ? pattern.exec(String(Properties[key]))?.[1] : undefined,
    );
  const [base] = nameOf("AWS::Lambda::Function", /^(.*)-agent$/, "FunctionName").filter((name) => name);
  const [group] = nameOf("AWS::Scheduler::ScheduleGroup", /^(.*)$/, "Name").filter((name) => name);
  if (!base || !group) throw new Error(`the template has no gateway ${id}`);
  const text = JSON.stringify(Object.fromEntries(named));
  const local = text.replaceAll(group, scheduleGroup).replaceAll(base, "gsv-local");
  return { Resources: JSON.parse(local) as TemplateJson["Resources"], Outputs };
}

/** A function or log group with a name, which CloudFormation would generate. */
function withName(resource: Resource, id: string): Resource {
  const name = `gsv-local-${functionNames.find((one) => id.toLowerCase().startsWith(one))}`;
  const generated: Record<string, Record<string, string>> = {
    "AWS::Lambda::Function": { FunctionName: name },
    "AWS::Logs::LogGroup": { LogGroupName: `/aws/lambda/${name}` },
  };
  return { ...resource, Properties: { ...generated[resource.Type], ...resource.Properties } };
}

/** The variables of a gateway's functions that are the same on AWS and in the local cloud. */
export function literalVariables({ Resources }: TemplateJson): Record<string, string> {
  const [agent] = Object.values(Resources).filter(
    ({ Properties }) => Properties?.FunctionName === "gsv-local-agent",
  );
  const { Variables } = agent!.Properties.Environment as { Variables: Record<string, unknown> };
  const { AGENT_FUNCTION: _, ...others } = Variables;
  const literal = Object.entries(others).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(literal) as Record<string, string>;
}
