"""Signs a person in with Authlib, refreshes, reads userinfo and signs out, for a test.

It gets an issuer, a client, its secret and two addresses to return to, prints where a browser goes, reads where it came
back to, prints what it learned as a line of JSON, and where a browser goes to sign out.
"""

import json
import os
import sys
import urllib.request
from urllib.parse import quote, urlencode

from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet

# Authlib takes plain http for a mistake, save where this is set.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

issuer, client_id, secret, callback, signed_out = sys.argv[1:6]


def read(address):
    with urllib.request.urlopen(address) as answer:
        return json.load(answer)


server = read(f"{issuer}/.well-known/openid-configuration")
client = OAuth2Client(
    client_id,
    secret,
    token_endpoint=server["token_endpoint"],
    token_endpoint_auth_method="client_secret_basic",
    redirect_uri=callback,
    scope="openid email",
    code_challenge_method="S256",
)
verifier, nonce = generate_token(48), generate_token(20)
address, state = client.create_authorization_url(
    server["authorization_endpoint"], code_verifier=verifier, nonce=nonce
)
print(address, flush=True)


def verified(token, **expected):
    keys = KeySet.import_key_set(read(server["jwks_uri"]))
    decoded = jwt.decode(token["id_token"], keys, algorithms=["ES256", "RS256"])
    claims = CodeIDToken(
        decoded.claims,
        decoded.header,
        {"iss": {"value": issuer}, "aud": {"value": client_id}},
        {"client_id": client_id, "access_token": token["access_token"], **expected},
    )
    claims.validate()
    return claims


first = client.fetch_token(
    authorization_response=sys.stdin.readline().strip(), code_verifier=verifier, state=state
)
sub = verified(first, nonce=nonce)["sub"]
second = client.refresh_token(server["token_endpoint"], refresh_token=first["refresh_token"])
told = client.get(server["userinfo_endpoint"]).json()
print(
    json.dumps({"sub": sub, "again": verified(second)["sub"], "email": told["email"], "verified": told["email_verified"]}),
    flush=True,
)
asked = {"id_token_hint": second["id_token"], "post_logout_redirect_uri": signed_out, "state": "over & out"}
print(f"{server['end_session_endpoint']}?{urlencode(asked, quote_via=quote)}", flush=True)
