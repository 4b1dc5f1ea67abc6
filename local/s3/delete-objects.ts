import { removeObject } from "../objects/object-files.ts";
import { S3Error, toS3Error } from "../objects/s3-error.ts";
import { receiveDocument } from "./body.ts";
import { type Answer, type Call, objectArn, xmlAnswer } from "./s3-call.ts";
import { childText, element, parseXml, textElement, type XmlElement, xmlDocument } from "./xml.ts";

/** Most keys in one request. */
const maximumKeys = 1000;

/** Deletes up to 1,000 objects. A key that is refused or fails is named in the answer and does not stop the others. */
export async function deleteObjects(call: Call): Promise<Answer> {
  const { request, store, authorize } = call;
  requireDigest(request.headers);
  const root = parseXml(await receiveDocument(store.root, request), "Delete");
  const quiet = childText(root, "Quiet") === "true";
  const results: string[] = [];
  for (const key of readKeys(root)) {
    try {
      await authorize("s3:DeleteObject", objectArn(request.bucket, key));
      await removeObject(store, request.bucket, key);
      if (!quiet) results.push(element("Deleted", textElement("Key", key)));
    } catch (error) {
      const { code, message } = toS3Error(error);
      const children = [textElement("Key", key), textElement("Code", code), textElement("Message", message)];
      results.push(element("Error", ...children));
    }
  }
  return xmlAnswer(xmlDocument("DeleteResult", ...results));
}

function requireDigest(headers: Map<string, string>): void {
  const stated = [...headers.keys()].some((name) => name === "content-md5" || name === "x-amz-trailer");
  if (stated || [...headers.keys()].some((name) => name.startsWith("x-amz-checksum-"))) return;
  throw new S3Error("InvalidRequest", "Missing required header for this request: Content-MD5");
}

function readKeys(root: XmlElement): string[] {
  const objects = root.children.filter(({ name }) => name === "Object");
  if (objects.length === 0 || objects.length > maximumKeys) {
    throw new S3Error("MalformedXML", `A request deletes between 1 and ${maximumKeys} objects`);
  }
  return objects.map((object) => {
    const key = childText(object, "Key");
    if (!key) throw new S3Error("MalformedXML", "An object to delete has no key");
    if (object.children.length === 1) return key;
    throw new S3Error("NotImplemented", "Only a key can be given of an object to delete");
  });
}
