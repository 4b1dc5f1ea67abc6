import { expect, test } from "vitest";
import { rolePolicies } from "../iam.ts";
import { synthesizeTemplate, type TemplateJson } from "../synthesis.ts";

/** A stage with an existing table. */
export function existingTableCases(): void {
  const own = synthesizeTemplate();
  const restored = synthesizeTemplate({ tableName: "gsv-local-restored" });

  const ofType = ({ Resources }: TemplateJson, type: string) =>
    Object.entries(Resources).filter(([, { Type }]) => Type === type);

  test("a stage that names a table does not use its own, and leaves its own unchanged", () => {
    const [table] = ofType(own, "AWS::DynamoDB::GlobalTable");
    expect(table?.[1]).toMatchObject({
      DeletionPolicy: "RetainExceptOnCreate",
      UpdateReplacePolicy: "Retain",
    });
    expect(ofType(restored, "AWS::DynamoDB::GlobalTable")).toEqual([]);
  });

  test("no other resource is added, removed or replaced", () => {
    const names = (template: TemplateJson) =>
      Object.entries(template.Resources).map(([id, { Type }]) => `${id} ${Type}`);
    const gone = names(own).filter((name) => !names(restored).includes(name));
    expect(gone).toEqual([expect.stringContaining("AWS::DynamoDB::GlobalTable")]);
    expect(names(restored).filter((name) => !names(own).includes(name))).toEqual([]);
  });

  test("the functions, the parameter and the output name that table", () => {
    const lambdas = ofType(restored, "AWS::Lambda::Function").map(([, { Properties }]) => Properties);
    const environments = lambdas.map(
      ({ Environment }) => Environment as { Variables: Record<string, unknown> },
    );
    expect(environments.length).toBeGreaterThan(3);
    for (const { Variables } of environments) expect(Variables.TABLE_NAME).toBe("gsv-local-restored");
    const parameters = ofType(restored, "AWS::SSM::Parameter").map(([, { Properties }]) => Properties);
    expect(parameters).toContainEqual(
      expect.objectContaining({ Name: "/gsv/local/table-name", Value: "gsv-local-restored" }),
    );
    expect(restored.Outputs.TableName?.Value).toBe("gsv-local-restored");
  });

  test("each role has the same rights on that table and its indexes as on the stack's own", () => {
    const before = rolePolicies(own);
    const now = rolePolicies(restored);
    const isTable = ({ action }: { action: string }) => action.startsWith("dynamodb:");
    const moved = (resource: string) => resource.replace(/table\/[^/]+/, "table/gsv-local-restored");
    for (const [name, permissions] of Object.entries(before)) {
      const expected = permissions.map((one) =>
        isTable(one) ? { ...one, resource: moved(one.resource) } : one,
      );
      expect(now[name as keyof typeof now]).toEqual(expected);
    }
    const indexes = Object.values(now)
      .flat()
      .filter(({ resource }) => /restored\/index\//.test(resource));
    expect(indexes.length).toBeGreaterThan(0);
  });

  test("the stack's own table and bucket carry the tags by which they are found without it", () => {
    const tags = expect.arrayContaining([
      { Key: "application", Value: "gsv" },
      { Key: "stage", Value: "local" },
    ]);
    const [table] = ofType(own, "AWS::DynamoDB::GlobalTable");
    expect(table?.[1].Properties).toMatchObject({ Replicas: [{ Tags: tags }] });
    const [bucket] = ofType(own, "AWS::S3::Bucket");
    expect(bucket?.[1].Properties).toMatchObject({ Tags: tags });
  });

  test("a stage that names a bucket uses that, with the policy of its own and the same rights", () => {
    const adopting = synthesizeTemplate({ tableName: "kept-table", bucketName: "kept-bucket" });
    expect(ofType(adopting, "AWS::S3::Bucket")).toEqual([]);
    const policyOf = (template: TemplateJson) => {
      const [policy] = ofType(template, "AWS::S3::BucketPolicy");
      return JSON.stringify(policy?.[1].Properties.PolicyDocument);
    };
    expect(policyOf(adopting)).toContain('"Condition":{"Bool":{"aws:SecureTransport":"false"}}');
    expect(policyOf(own)).toContain('"Condition":{"Bool":{"aws:SecureTransport":"false"}}');
    expect(adopting.Outputs.BucketName?.Value).toBe("kept-bucket");
    const ofBucket = (template: TemplateJson) =>
      Object.values(rolePolicies(template))
        .flat()
        .filter(({ action }) => action.startsWith("s3:"))
        .map(({ action, resource }) => `${action} ${resource.replace(/:::[^/]+/, ":::bucket")}`);
    expect(ofBucket(adopting).length).toBeGreaterThan(3);
    expect(ofBucket(adopting)).toEqual(ofBucket(own));
  });
}
