"""Authenticates by private_key_jwt, gets tokens for a device and exchanges them with Authlib, and reads tokens by the keys
of the server, for a test.

It reads lines of JSON, each with one thing to do, and answers each with a line of JSON.
"""

import json
import os
import sys
import time
import urllib.request

from authlib.integrations.httpx_client import OAuth2Client
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc import jwt
from joserfc.jwk import KeySet, import_key

# Authlib takes plain http for a mistake, save where this is set.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"


def token(given):
    key = import_key(given["key"])
    client = OAuth2Client(given["client"], key, token_endpoint_auth_method="private_key_jwt")
    # Authlib's own hour is longer than an assertion may live here.
    claims = {"exp": int(time.time()) + 60}
    headers = {"kid": given["key"]["kid"]}
    client.register_client_auth_method(PrivateKeyJWT(given["audience"], claims, headers, given["key"]["alg"]))
    got = client.fetch_token(given["endpoint"], grant_type="client_credentials", scope="api")
    return {"access": got["access_token"]}


def read(given):
    with urllib.request.urlopen(given["jwks_uri"]) as answer:
        keys = KeySet.import_key_set(json.load(answer))
    decoded = jwt.decode(given["access"], keys, algorithms=["ES256"])
    return {"claims": decoded.claims, "kid": decoded.header["kid"], "kids": [key.kid for key in keys.keys]}


def device(given):
    """RFC 8628 §3.1: Authlib has no call of its own for this, but sends what a client has to send."""
    client = OAuth2Client(given["client"], token_endpoint_auth_method="none")
    asked = {"client_id": given["client"], "scope": "api"}
    told = client.request("POST", given["endpoint"], withhold_token=True, data=asked).json()
    return {"device": told["device_code"], "code": told["user_code"], "at": told["verification_uri"]}


def poll(given):
    client = OAuth2Client(given["client"], token_endpoint_auth_method="none")
    got = client.fetch_token(
        given["endpoint"],
        grant_type="urn:ietf:params:oauth:grant-type:device_code",
        device_code=given["device"],
    )
    return {"access": got["access_token"], "renewed": client.refresh_token(given["endpoint"])["access_token"]}


def exchange(given):
    client = OAuth2Client(given["client"], given["secret"], token_endpoint_auth_method="client_secret_post")
    got = client.fetch_token(
        given["endpoint"],
        grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token=given["access"],
        subject_token_type="urn:ietf:params:oauth:token-type:access_token",
        scope=given["scope"],
    )
    return {"access": got["access_token"], "type": got["issued_token_type"], "scope": got["scope"]}


for line in sys.stdin:
    given = json.loads(line)
    try:
        answer = {"token": token, "read": read, "device": device, "poll": poll, "exchange": exchange}[given["do"]](given)
    except Exception as failure:
        answer = {"failure": getattr(failure, "error", type(failure).__name__)}
    print(json.dumps(answer), flush=True)
