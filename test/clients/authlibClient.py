"""Authenticates by private_key_jwt, gets tokens for a device and exchanges them with Authlib, and reads tokens by the keys
of the server, for a test.

It reads lines of JSON, each with one thing to do, and answers each with a line of JSON.
"""

import json
import os
import sys
import time
import urllib.request
from base64 import urlsafe_b64encode
from hashlib import sha256
from urllib.parse import parse_qsl, urlsplit

from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc import jwt
from joserfc.jwk import KeySet, import_key

# Authlib takes plain http for a mistake, save where this is set.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"


def signing(given, **more):
    key = import_key(given["key"])
    client = OAuth2Client(given["client"], key, token_endpoint_auth_method="private_key_jwt", **more)
    # Authlib's own hour is longer than an assertion may live here.
    claims = {"exp": int(time.time()) + 60}
    headers = {"kid": given["key"]["kid"]}
    client.register_client_auth_method(PrivateKeyJWT(given["audience"], claims, headers, given["key"]["alg"]))
    return client


def token(given):
    client = signing(given)
    got = client.fetch_token(given["endpoint"], grant_type="client_credentials", scope="api")
    return {"access": got["access_token"]}


def read(given):
    with urllib.request.urlopen(given["jwks_uri"]) as answer:
        keys = KeySet.import_key_set(json.load(answer))
    decoded = jwt.decode(given["access"], keys, algorithms=["ES256"])
    return {"claims": decoded.claims, "kid": decoded.header["kid"], "kids": [key.kid for key in keys.keys]}


def proven(given, method, address, token=None):
    """RFC 9449 §4.2: Authlib makes no proofs, but sends what it is given."""
    key = import_key(given["holder"])
    claims = {"htm": method, "htu": address, "jti": generate_token(20), "iat": int(time.time())}
    if token is not None:
        claims["ath"] = urlsafe_b64encode(sha256(token.encode()).digest()).rstrip(b"=").decode()
    header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.as_dict(private=False)}
    return {"DPoP": jwt.encode(header, claims, key)}


def push(given):
    """RFC 9126 §2.1: what Authlib would send a browser with, sent as it sends to the token endpoint."""
    client = signing(given, redirect_uri=given["redirect_uri"], scope="api", code_challenge_method="S256")
    verifier = generate_token(48)
    address, state = client.create_authorization_url(given["authorize"], code_verifier=verifier)
    told = client.request(
        "POST",
        given["par"],
        withhold_token=True,
        auth=client.client_auth("private_key_jwt"),
        data=dict(parse_qsl(urlsplit(address).query)),
        headers=proven(given, "POST", given["par"]),
    ).json()
    return {"request": told["request_uri"], "verifier": verifier, "state": state}


def redeem(given):
    client = signing(given, redirect_uri=given["redirect_uri"], state=given["state"])
    endpoint = given["endpoint"]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    got = client.fetch_token(
        endpoint,
        authorization_response=given["back"],
        code_verifier=given["verifier"],
        headers=form | proven(given, "POST", endpoint),
    )
    # Authlib keeps the jti among the claims that it was given: an assertion is good once, so this takes another client.
    headers = form | proven(given, "POST", endpoint)
    renewed = signing(given).refresh_token(endpoint, got["refresh_token"], headers=headers)
    access = renewed["access_token"]
    headers = proven(given, "GET", given["api"], access) | {"Authorization": f"DPoP {access}"}
    with urllib.request.urlopen(urllib.request.Request(given["api"], headers=headers)) as answer:
        return {"access": access, "type": renewed["token_type"], "status": answer.status}


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
        does = {"token": token, "read": read, "device": device, "poll": poll, "exchange": exchange}
        answer = (does | {"push": push, "redeem": redeem})[given["do"]](given)
    except Exception as failure:
        answer = {"failure": getattr(failure, "error", type(failure).__name__)}
    print(json.dumps(answer), flush=True)
