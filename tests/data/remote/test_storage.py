"""Access to S3: names, versions, credentials first and then none, and one clear error for each refusal."""

import json

import pytest

from bsjax.data.remote.storage import RemoteFile, Storage

BODY = b"content of the object"


def content(remote: RemoteFile) -> bytes:
    body, _, _ = Storage().open(remote)
    with body:
        return body.read()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bucket": "s3://b", "key": "a"}, "not a bucket: 's3:"),
        ({"bucket": "b", "key": ""}, "'' in bucket 'b' has no file name"),
        ({"bucket": "b", "key": "a", "sha1": "../../elsewhere"}, r"sha1 of s3://b/a has to be 40 hexadecimal digits"),
    ],
)
def test_what_is_no_remote_file(arguments, message):
    with pytest.raises(ValueError, match=message):
        RemoteFile(**arguments)


@pytest.mark.slow
@pytest.mark.parametrize("version", [None, "null"])
def test_unversioned_bucket(s3, relay, bucket, version):
    s3.put_object(Bucket=bucket, Key="a.bin", Body=BODY)
    assert content(RemoteFile(bucket, "a.bin", version)) == BODY
    assert ("versionId=null" in relay.asked[0].path) == (version == "null")


@pytest.mark.slow
def test_versioned_bucket(s3, relay, bucket):
    s3.put_object(Bucket=bucket, Key="a.bin", Body=b"before versions")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    first = s3.put_object(Bucket=bucket, Key="a.bin", Body=b"first")["VersionId"]
    second = s3.put_object(Bucket=bucket, Key="a.bin", Body=b"second")["VersionId"]
    found = [content(RemoteFile(bucket, "a.bin", version)) for version in ("null", first, second, None)]
    assert found == [b"before versions", b"first", b"second", b"second"]
    with pytest.raises(FileNotFoundError, match=f"object 'a.bin' in bucket '{bucket}' has no version 'gone'"):
        content(RemoteFile(bucket, "a.bin", "gone"))
    marker = s3.delete_object(Bucket=bucket, Key="a.bin")["VersionId"]
    with pytest.raises(FileNotFoundError, match=f"no object 'a.bin' in bucket '{bucket}'"):
        content(RemoteFile(bucket, "a.bin"))
    with pytest.raises(FileNotFoundError, match="has no version"):
        content(RemoteFile(bucket, "a.bin", marker))
    assert content(RemoteFile(bucket, "a.bin", first)) == b"first"


def test_credentials_that_fail_are_followed_by_none(s3, relay, bucket, monkeypatch):
    s3.put_object(Bucket=bucket, Key="a.bin", Body=BODY, ACL="public-read")
    s3.put_object(Bucket=bucket, Key="private.bin", Body=BODY)
    relay.trouble.refuse_signed = True
    assert content(RemoteFile(bucket, "a.bin")) == BODY
    assert [(asked.signed, asked.status) for asked in relay.asked] == [(True, 403), (False, 200)]
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    relay.asked.clear()
    assert content(RemoteFile(bucket, "a.bin", "null")) == BODY
    assert [asked.signed for asked in relay.asked] == [False]
    with pytest.raises(PermissionError, match=r"S3 refused .*403.* set AWS_ACCESS_KEY_ID"):
        content(RemoteFile(bucket, "private.bin"))


@pytest.mark.parametrize(("version", "permission"), [(None, "s3:GetObject"), ("null", "s3:GetObjectVersion")])
def test_refused_with_and_without_credentials_is_one_message(s3, relay, bucket, version, permission):
    s3.put_object(Bucket=bucket, Key="folder/a.bin", Body=BODY)
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    with pytest.raises(PermissionError, match=rf"{permission} on arn:aws:s3:::{bucket}/folder/a.bin: set AWS_ACCESS_K"):
        content(RemoteFile(bucket, "folder/a.bin", version))


def test_what_is_not_there_is_named(relay, bucket):
    with pytest.raises(FileNotFoundError, match=f"^there is no object 'b/a.bin' in bucket '{bucket}'$"):
        content(RemoteFile(bucket, "b/a.bin"))
    with pytest.raises(FileNotFoundError, match="there is no bucket 'no-such-bucket', which s3://no-such-bucket/a"):
        content(RemoteFile("no-such-bucket", "a"))
    with pytest.raises(ValueError, match="S3 can have no such bucket, object or version: s3://not a bucket/a"):
        content(RemoteFile("not a bucket", "a"))


def test_no_server_and_a_failing_one(relay, bucket, monkeypatch):
    relay.trouble.fail_with = 503
    with pytest.raises(ConnectionError, match=f"S3 failed for s3://{bucket}/a: .*503"):
        content(RemoteFile(bucket, "a"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")  # the port of the discard service
    with pytest.raises(ConnectionError, match=f"no connection for s3://{bucket}/a: Could not connect to the endpoint"):
        content(RemoteFile(bucket, "a"))
