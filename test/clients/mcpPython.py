"""Calls tools of MCP servers with the client of MCP's Python SDK, for a test.

It reads lines of JSON: first what to call, then where each person was led back. It writes lines of JSON: where a person
is sent, and at last what was answered.
"""

import json
import sys
from urllib.parse import parse_qs, urlparse

import anyio
from mcp import ClientSession
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata


class Memory:
    def __init__(self):
        self.tokens = None
        self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def say(**what):
    print(json.dumps(what), flush=True)


async def send(url):
    say(sent=url)


async def came_back():
    back = parse_qs(urlparse(json.loads(await anyio.to_thread.run_sync(sys.stdin.readline))).query)
    return AuthorizationCodeResult(**{name: values[0] for name, values in back.items() if name in ("code", "state", "iss")})


async def call(url, tools, redirect_uri, document):
    memory = Memory()
    metadata = OAuthClientMetadata(
        client_name="MCP Python", redirect_uris=[redirect_uri], token_endpoint_auth_method="none"
    )
    provider = OAuthClientProvider(url, metadata, memory, send, came_back, client_metadata_url=document)
    answers = []
    async with (
        create_mcp_http_client(auth=provider) as http,
        streamable_http_client(url, http_client=http) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        for tool in tools:
            answers.append((await session.call_tool(tool, {})).content[0].text)
    return {
        "answers": answers,
        "client": memory.client.client_id,
        "access": memory.tokens.access_token,
        "scope": memory.tokens.scope,
    }


async def main():
    given = json.loads(sys.stdin.readline())
    say(
        done=[
            await call(api["url"], given["tools"], given["redirect"], api.get("document")) for api in given["apis"]
        ]
    )


anyio.run(main)
