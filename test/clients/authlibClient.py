"""Authenticates by private_key_jwt with Authlib, and reads tokens by the keys of the server, for a test.

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


for line in sys.stdin:
    given = json.loads(line)
    try:
        answer = {"token": token, "read": read}[given["do"]](given)
    except Exception as failure:
        answer = {"failure": getattr(failure, "error", type(failure).__name__)}
    print(json.dumps(answer), flush=True)
