import type { Answer, FakeCall, FakeStack, FakeState } from "./fake-services.ts";

const xml = (operation: string, result: string): Answer => ({
  type: "text/xml",
  body: `<${operation}Response><${operation}Result>${result}</${operation}Result></${operation}Response>`,
});

const idOf = (name: string) => `arn:aws:cloudformation:us-east-1:123456789012:stack/${name}/1`;
const nameOf = (id: string) => /:stack\/([^/]+)/.exec(id)?.[1] ?? id;

const list = (tag: string, members: readonly string[]) =>
  `<${tag}>${members.map((one) => `<member>${one}</member>`).join("")}</${tag}>`;
const fields = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([key, value]) => `<${key}>${value}</${key}>`)
    .join("");

/** The operations of STS and CloudFormation. */
const operations: Record<string, (account: FakeState, input: URLSearchParams) => Answer> = {
  GetCallerIdentity: () => xml("GetCallerIdentity", fields({ Account: "123456789012" })),
  DescribeStacks: (account, input) => {
    const name = nameOf(input.get("StackName") ?? "");
    const stack = account.stacks.get(name);
    if (!stack) return absent(name);
    const outputs = Object.entries(stack.outputs).map(([OutputKey, OutputValue]) =>
      fields({ OutputKey, OutputValue }),
    );
    const one = `${fields({ StackId: idOf(name), StackName: name, StackStatus: stack.status })}${list("Outputs", outputs)}`;
    return xml("DescribeStacks", list("Stacks", [one]));
  },
  ListStackResources: (account, input) => {
    const stack = account.stacks.get(nameOf(input.get("StackName") ?? ""));
    const { items, next } = account.page(stack?.resources ?? [], input.get("NextToken") ?? undefined);
    const members = items.map(({ type, name }) =>
      fields({
        ...{ ResourceType: type, PhysicalResourceId: name },
        ...(stack?.undeletable?.name === name && stack.status === "DELETE_FAILED"
          ? { ResourceStatus: "DELETE_FAILED", ResourceStatusReason: stack.undeletable.reason }
          : { ResourceStatus: "CREATE_COMPLETE" }),
      }),
    );
    const token = next ? fields({ NextToken: next }) : "";
    return xml("ListStackResources", `${list("StackResourceSummaries", members)}${token}`);
  },
  DeleteStack: (account, input) => {
    const name = nameOf(input.get("StackName") ?? "");
    const stack = account.stacks.get(name);
    if (stack) deleteResources(account, name, stack);
    return xml("DeleteStack", "");
  },
};

/** The stores remain, as their deletion policy says. */
function deleteResources(account: FakeState, name: string, stack: FakeStack): void {
  if (stack.undeletable) {
    stack.resources = stack.resources.filter((one) => one.name === stack.undeletable?.name);
    stack.status = "DELETE_FAILED";
    return;
  }
  account.stacks.delete(name);
  for (const parameter of ["websocket-url", "webhook-url", "table-name", "bucket-name"])
    account.parameters.delete(`/gsv/${name.slice("gsv-".length)}/${parameter}`);
}

function absent(name: string): Answer {
  const error = fields({ Code: "ValidationError", Message: `Stack with id ${name} does not exist` });
  return { status: 400, type: "text/xml", body: `<ErrorResponse><Error>${error}</Error></ErrorResponse>` };
}

export function fakeQuery(account: FakeState, input: URLSearchParams): FakeCall {
  const operation = input.get("Action") ?? "";
  const found = operations[operation];
  if (!found) throw new Error(`the fake account has no operation ${operation}`);
  return { operation, run: () => found(account, input) };
}
