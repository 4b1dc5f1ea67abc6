import { createHash } from "node:crypto";
import type { JsonRecord } from "../../../../../local/http/json.ts";
import type { IndexName, StoredItem } from "../../../../../local/items/keyed-items.ts";
import { compareText } from "../../../../../local/items/text-order.ts";
import { invalid } from "../dynamodb-error.ts";
import { keysOf } from "../dynamodb-schema.ts";
import { conditionOf, projectionOf } from "../expression/request-expressions.ts";
import { Substitutions } from "../expression/substitutions.ts";
import { numberField } from "../request-fields.ts";
import type { ServedTable } from "../served-table.ts";
import { answerPage } from "./page.ts";
import { pageRequest, startKeyOf } from "./page-request.ts";

/** Reads the whole table or index in the order of the table's keys, or one of several segments of it. */
export async function scan(served: ServedTable, input: JsonRecord): Promise<object> {
  const substitutions = new Substitutions(input);
  const filter = conditionOf(input, "FilterExpression", substitutions);
  const paths = projectionOf(input, substitutions);
  substitutions.requireAllUsed();
  const request = pageRequest(input, filter, paths);
  const start = startKeyOf(input, request.index);
  const isInSegment = segmentOf(input);
  const rows = [...served.store.all()]
    .filter((item) => isRow(item, request.index) && isInSegment(item))
    .filter((item) => start === undefined || compareKeys(item, start) > 0)
    .sort(compareKeys);
  return answerPage(served, input, request, rows);
}

function isRow(item: StoredItem, index: IndexName | undefined): boolean {
  const { pk, sk } = keysOf(index);
  return item[pk] !== undefined && item[sk] !== undefined;
}

function compareKeys(a: StoredItem, b: StoredItem): number {
  return compareText(a.pk, b.pk) || compareText(a.sk, b.sk);
}

/** Whether an item belongs to the segment that the request asks for. @throws AwsError ValidationException */
function segmentOf(input: JsonRecord): (item: StoredItem) => boolean {
  const segment = numberField(input, "Segment", 0);
  const total = numberField(input, "TotalSegments", 1);
  if (segment === undefined && total === undefined) return () => true;
  if (segment === undefined || total === undefined) {
    throw invalid("Segment and TotalSegments must both be present in the request, or neither of them");
  }
  if (segment >= total) {
    throw invalid(
      `The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: ${segment} is not less than TotalSegments: ${total}`,
    );
  }
  return ({ pk }) => createHash("md5").update(pk).digest().readUInt32BE() % total === segment;
}
