import { AwsError } from "../../../../local/http/aws-error.ts";

/** The namespaces in which DynamoDB's answers name their exceptions. */
const namespaces: Record<string, string> = {
  ValidationException: "com.amazon.coral.validate",
  AccessDeniedException: "com.amazon.coral.service",
  MissingAuthenticationTokenException: "com.amazon.coral.service",
  SerializationException: "com.amazon.coral.service",
  UnknownOperationException: "com.amazon.coral.service",
};

/** A conditional write whose condition did not hold. */
export class ConditionalCheckFailed extends AwsError {
  /** DynamoDB's JSON of the item as it is, when the request asked for it and there is one. */
  readonly item: object | undefined;

  constructor(item?: object) {
    super(400, "ConditionalCheckFailedException", "The conditional request failed");
    this.item = item;
  }
}

/** The request is wrong, whatever the table holds. */
export function invalid(message: string): AwsError {
  return new AwsError(400, "ValidationException", message);
}

/** A field of the request has another JSON type than the API gives it. */
export function unreadable(message: string): AwsError {
  return new AwsError(400, "SerializationException", message);
}

/** The body of an error as the SDK reads it. */
export function errorBody(error: AwsError): string {
  const __type = `${namespaces[error.code] ?? "com.amazonaws.dynamodb.v20120810"}#${error.code}`;
  const Item = error instanceof ConditionalCheckFailed ? error.item : undefined;
  return JSON.stringify({ __type, message: error.message, Item });
}
