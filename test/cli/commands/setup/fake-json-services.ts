import type { Answer, FakeCall, FakeState } from "./fake-services.ts";

interface Input {
  Path?: string;
  Recursive?: boolean;
  NextToken?: string;
  Names?: string[];
  TableName?: string;
  PaginationToken?: string;
  TagFilters?: { Key: string; Values: string[] }[];
  ResourceARNList?: string[];
  Tags?: Record<string, string>;
}

const json = (body: object, status = 200): Answer => ({
  status,
  type: "application/x-amz-json-1.0",
  body: JSON.stringify(body),
});

const noTable = json(
  { __type: "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", message: "no table" },
  400,
);

/** The operations of SSM, DynamoDB and Resource Groups Tagging. */
const operations: Record<string, (account: FakeState, input: Input) => Answer> = {
  GetParametersByPath: (account, { Path = "", Recursive = false, NextToken }) => {
    const isChild = (name: string) =>
      name.startsWith(`${Path}/`) && (Recursive || !name.slice(Path.length + 1).includes("/"));
    const found = [...account.parameters].filter(([name]) => isChild(name));
    const { items, next } = account.page(found, NextToken);
    return json({ Parameters: items.map(([Name, Value]) => ({ Name, Value })), NextToken: next });
  },
  DeleteParameters: (account, { Names = [] }) => {
    if (Names.length > 10) return json({ __type: "ValidationException", message: "at most 10" }, 400);
    for (const name of Names) account.parameters.delete(name);
    return json({ DeletedParameters: Names });
  },
  GetItem: (account, { TableName = "" }) => (account.tables.has(TableName) ? json({}) : noTable),
  DescribeTable: (account, { TableName = "" }) =>
    account.tables.has(TableName) ? json({ Table: { TableName, TableStatus: "ACTIVE" } }) : noTable,
  DeleteTable: (account, { TableName = "" }) => (account.tables.delete(TableName) ? json({}) : noTable),
  GetResources: (account, { TagFilters = [], PaginationToken }) => {
    const found = [...account.tags].filter(([, tags]) =>
      TagFilters.every(({ Key, Values }) => Values.includes(tags[Key] ?? "")),
    );
    const { items, next } = account.page(found, PaginationToken || undefined);
    return json({
      PaginationToken: next ?? "",
      ResourceTagMappingList: items.map(([ResourceARN]) => ({ ResourceARN })),
    });
  },
  TagResources: (account, { ResourceARNList = [], Tags = {} }) => {
    for (const arn of ResourceARNList) account.tags.set(arn, { ...account.tags.get(arn), ...Tags });
    return json({ FailedResourcesMap: {} });
  },
};

export function fakeJson(account: FakeState, operation: string, input: Input): FakeCall {
  const found = operations[operation];
  if (!found) throw new Error(`the fake account has no operation ${operation}`);
  return { operation, run: () => found(account, input) };
}
