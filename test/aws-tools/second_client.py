"""boto3 as a second client of the local S3, DynamoDB and Scheduler: an SDK that the emulators were not written with.

Reads the addresses from the environment variables S3, DYNAMODB and SCHEDULER, the names from TABLE, BUCKET and GROUP.
Prints a line of JSON for each case: {"name", "fault"}, without a fault when it passed.
"""

import io
import json
import os
import urllib.request
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

TABLE, BUCKET, GROUP = os.environ["TABLE"], os.environ["BUCKET"], os.environ["GROUP"]
session = boto3.session.Session("AKIDEXAMPLE", "secret", region_name="us-east-1")
once = Config(retries={"max_attempts": 1})
# Without a version, boto3 presigns with the one that newer regions refuse.
of_s3 = Config(retries={"max_attempts": 1}, signature_version="s3v4", s3={"addressing_style": "path"})
s3 = session.client("s3", endpoint_url=os.environ["S3"], config=of_s3)
table = session.resource("dynamodb", endpoint_url=os.environ["DYNAMODB"], config=once).Table(TABLE)
scheduler = session.client("scheduler", endpoint_url=os.environ["SCHEDULER"], config=once)
cases = []


def case(function):
    cases.append(function)
    return function


def refused(code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return
    raise AssertionError(f"was not refused with {code}")


@case
def s3_gives_back_what_was_put():
    put = s3.put_object(Bucket=BUCKET, Key="a b/ü.txt", Body=b"hello", ContentType="text/plain", Metadata={"k": "v"})
    got = s3.get_object(Bucket=BUCKET, Key="a b/ü.txt")
    assert got["Body"].read() == b"hello" and got["ETag"] == put["ETag"]
    assert got["ContentType"] == "text/plain" and got["Metadata"] == {"k": "v"}
    assert s3.head_object(Bucket=BUCKET, Key="a b/ü.txt")["ContentLength"] == 5


@case
def s3_keeps_conditions():
    first = s3.put_object(Bucket=BUCKET, Key="once", Body=b"1", IfNoneMatch="*")["ETag"]
    refused("PreconditionFailed", s3.put_object, Bucket=BUCKET, Key="once", Body=b"2", IfNoneMatch="*")
    s3.put_object(Bucket=BUCKET, Key="once", Body=b"3", IfMatch=first)
    refused("PreconditionFailed", s3.put_object, Bucket=BUCKET, Key="once", Body=b"4", IfMatch=first)
    refused("NoSuchKey", s3.get_object, Bucket=BUCKET, Key="never")


@case
def s3_uploads_in_parts():
    body = os.urandom(11 * 1024 * 1024)
    parts = TransferConfig(multipart_threshold=5 * 1024 * 1024, multipart_chunksize=5 * 1024 * 1024)
    s3.upload_fileobj(io.BytesIO(body), BUCKET, "large", Config=parts)
    assert s3.get_object(Bucket=BUCKET, Key="large")["Body"].read() == body
    assert s3.get_object(Bucket=BUCKET, Key="large")["ETag"].endswith('-3"')


@case
def s3_lists_pages_and_folders():
    for name in ["1", "2", "3", "deep/4"]:
        s3.put_object(Bucket=BUCKET, Key=f"list/{name}", Body=b"x")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="list/", PaginationConfig={"PageSize": 2})
    assert [one["Key"] for page in pages for one in page["Contents"]] == [f"list/{n}" for n in ["1", "2", "3", "deep/4"]]
    level = s3.list_objects_v2(Bucket=BUCKET, Prefix="list/", Delimiter="/")
    assert [one["Prefix"] for one in level["CommonPrefixes"]] == ["list/deep/"] and level["KeyCount"] == 4


@case
def s3_deletes():
    s3.put_object(Bucket=BUCKET, Key="gone", Body=b"x")
    s3.delete_object(Bucket=BUCKET, Key="gone")
    s3.delete_object(Bucket=BUCKET, Key="gone")
    refused("404", s3.head_object, Bucket=BUCKET, Key="gone")


@case
def s3_takes_presigned_urls():
    at = {"Bucket": BUCKET, "Key": "signed"}
    put = urllib.request.Request(s3.generate_presigned_url("put_object", at, 60), data=b"by url", method="PUT")
    assert urllib.request.urlopen(put).status == 200
    assert urllib.request.urlopen(s3.generate_presigned_url("get_object", at, 60)).read() == b"by url"


@case
def dynamodb_gives_back_what_was_put():
    item = {"pk": "B", "sk": "1", "n": Decimal("123456789.5"), "l": [1, "two", None, True], "m": {"x": {"y": "z"}}}
    table.put_item(Item=item)
    got = table.get_item(Key={"pk": "B", "sk": "1"}, ConsistentRead=True)["Item"]
    assert got["n"] == item["n"] and got["l"] == item["l"] and got["m"] == item["m"], got
    assert "Item" not in table.get_item(Key={"pk": "B", "sk": "never"})


@case
def dynamodb_keeps_conditions():
    key = {"pk": "C", "sk": "1"}
    table.put_item(Item={**key, "n": 1}, ConditionExpression=Attr("pk").not_exists())
    refused("ConditionalCheckFailedException", table.put_item, Item=key, ConditionExpression=Attr("pk").not_exists())
    change = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": 1}, "ReturnValues": "ALL_NEW"}
    assert table.update_item(Key=key, ConditionExpression=Attr("n").lt(2), **change)["Attributes"]["n"] == 2
    refused("ConditionalCheckFailedException", table.update_item, Key=key, ConditionExpression=Attr("n").lt(2), **change)


@case
def dynamodb_queries_in_order_and_in_pages():
    with table.batch_writer() as batch:
        for number in range(30):
            batch.put_item(Item={"pk": "Q", "sk": f"{number:02d}", "pad": "x"})
    found, start = [], {}
    while True:
        page = table.query(KeyConditionExpression=Key("pk").eq("Q") & Key("sk").between("05", "24"), Limit=7, **start)
        found += [item["sk"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert found == [f"{number:02d}" for number in range(5, 25)], found


@case
def dynamodb_has_the_sparse_index():
    table.put_item(Item={"pk": "D", "sk": "1", "duePk": "DUE", "dueAt": 5})
    table.put_item(Item={"pk": "D", "sk": "2"})
    due = table.query(IndexName="due", KeyConditionExpression=Key("duePk").eq("DUE") & Key("dueAt").lte(5))
    assert [(item["pk"], item["sk"]) for item in due["Items"]] == [("D", "1")]


@case
def dynamodb_refuses_what_is_wrong():
    refused("ValidationException", table.put_item, Item={"pk": "only half a key"})
    both = {"UpdateExpression": "SET m = :a, m.x = :a", "ExpressionAttributeValues": {":a": 1}}
    refused("ValidationException", table.update_item, Key={"pk": "V", "sk": "1"}, **both)


def at(moment):
    return f"at({moment.strftime('%Y-%m-%dT%H:%M:%S')})"


def schedule(name, moment):
    target = {"Arn": "arn:aws:lambda:us-east-1:123456789012:function:timer", "RoleArn": "arn:aws:iam::123456789012:role/r", "Input": "{}"}
    return {"Name": name, "GroupName": GROUP, "ScheduleExpression": at(moment), "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target}


@case
def scheduler_keeps_a_schedule_once():
    later = datetime.now(timezone.utc) + timedelta(days=1)
    scheduler.create_schedule(**schedule("one", later), ActionAfterCompletion="DELETE")
    refused("ConflictException", scheduler.create_schedule, **schedule("one", later))
    kept = scheduler.get_schedule(Name="one", GroupName=GROUP)
    assert kept["ScheduleExpression"] == at(later) and kept["State"] == "ENABLED"
    scheduler.delete_schedule(Name="one", GroupName=GROUP)
    refused("ResourceNotFoundException", scheduler.get_schedule, Name="one", GroupName=GROUP)


@case
def scheduler_refuses_a_time_that_is_past():
    past = datetime.now(timezone.utc) - timedelta(minutes=5)
    refused("ValidationException", scheduler.create_schedule, **schedule("past", past))


for function in cases:
    line = {"name": function.__name__.replace("_", " ")}
    try:
        function()
    except Exception as error:  # noqa: BLE001 -- every fault is a finding
        line["fault"] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps(line), flush=True)
