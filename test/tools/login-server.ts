/**
 * An MCP server that wants a login, and its authorization server, at one address: discovery, registration, PKCE, and refresh tokens
 * that are good once. The second use of one ends the login, as many authorization servers do. A person is not asked: the page of a
 * login goes straight back.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Grant = { readonly client: string; readonly scope: string; isEnded: boolean };
type Code = { readonly challenge: string; readonly redirect: string; readonly grant: Grant };

export type LoginServer = {
  /** The address of the MCP server. */
  readonly url: string;
  readonly counts: { registrations: number; logins: number; refreshes: number; reuses: number; calls: number };
  /** What the server gets wrong on purpose. */
  readonly faults: {
    /** The issuer in the metadata of the authorization server. */
    issuer?: string;
    /** The resource in the metadata of the MCP server. */
    resource?: string;
    /** The issuer with which the browser comes back. */
    iss?: string;
    /** The token endpoint breaks the connection. */
    isUnreachable?: boolean;
    /** Calls need this scope. */
    scope?: string;
    /** A call without state is answered with this state alone, and the login ends. */
    state?: string;
  };
  /** The state that each call brought; null for a call without state. */
  readonly states: readonly (string | null)[];
  /** Every access token so far is refused from now on. */
  readonly expire: () => void;
};

/** Serves until the test ends. @param usesPerToken an access token is refused after so many calls */
export async function startLoginServer(usesPerToken = Number.POSITIVE_INFINITY): Promise<LoginServer> {
  const counts = { registrations: 0, logins: 0, refreshes: 0, reuses: 0, calls: 0 };
  const faults: LoginServer["faults"] = {};
  const states: (string | null)[] = [];
  const clients = new Map<string, readonly string[]>();
  const codes = new Map<string, Code>();
  const access = new Map<string, { readonly grant: Grant; uses: number }>();
  const refresh = new Map<string, { readonly grant: Grant; isUsed: boolean }>();

  const issue = (grant: Grant, withRefresh: boolean) => {
    const [token, next] = [randomUUID(), randomUUID()];
    access.set(token, { grant, uses: 0 });
    if (withRefresh) refresh.set(next, { grant, isUsed: false });
    return {
      access_token: token,
      token_type: "Bearer",
      scope: grant.scope,
      ...(withRefresh ? { refresh_token: next } : {}),
    };
  };

  function token(form: URLSearchParams): object | null {
    const given = (name: string) => form.get(name) ?? "";
    switch (given("grant_type")) {
      case "client_credentials":
        return issue({ client: "program", scope: given("scope") || "tools", isEnded: false }, false);
      case "authorization_code": {
        const code = codes.get(given("code"));
        codes.delete(given("code"));
        const challenge = createHash("sha256").update(given("code_verifier")).digest("base64url");
        if (code === undefined || code.challenge !== challenge || code.redirect !== given("redirect_uri")) return null;
        counts.logins += 1;
        return issue(code.grant, true);
      }
      case "refresh_token": {
        const found = refresh.get(given("refresh_token"));
        if (found === undefined || found.grant.isEnded || found.grant.client !== given("client_id")) return null;
        if (found.isUsed) {
          counts.reuses += 1;
          found.grant.isEnded = true;
          return null;
        }
        found.isUsed = true;
        counts.refreshes += 1;
        return issue(found.grant, true);
      }
      default:
        return null;
    }
  }

  function authorize(parameters: URLSearchParams, response: ServerResponse): void {
    const given = (name: string) => parameters.get(name) ?? "";
    const redirect = given("redirect_uri");
    if (clients.get(given("client_id"))?.includes(redirect) !== true) return void response.writeHead(400).end();
    const code = randomUUID();
    const grant = { client: given("client_id"), scope: given("scope"), isEnded: false };
    codes.set(code, { challenge: given("code_challenge"), redirect, grant });
    const back = new URL(redirect);
    back.searchParams.set("code", code);
    back.searchParams.set("state", given("state"));
    back.searchParams.set("iss", faults.iss ?? origin());
    response.writeHead(302, { location: back.href }).end();
  }

  /** Null if the token may not call. */
  function caller(request: IncomingMessage): string | null {
    const found = access.get((request.headers.authorization ?? "").replace("Bearer ", ""));
    if (found === undefined || found.grant.isEnded || found.uses >= usesPerToken) return null;
    found.uses += 1;
    return found.grant.scope;
  }

  function call(request: IncomingMessage, body: string, response: ServerResponse): void {
    const { id, method, params } = JSON.parse(body);
    const scope = caller(request);
    const isTooWeak = scope !== null && faults.scope !== undefined && !scope.split(" ").includes(faults.scope);
    if (scope === null || isTooWeak) {
      const metadata = `resource_metadata="${origin()}/.well-known/oauth-protected-resource/mcp"`;
      const error = isTooWeak ? `, error="insufficient_scope", scope="${faults.scope}"` : `, scope="tools"`;
      return void response.writeHead(isTooWeak ? 403 : 401, { "www-authenticate": `Bearer ${metadata}${error}` }).end();
    }
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/call") {
      counts.calls += 1;
      const { requestState = null } = params;
      states.push(requestState);
      if (faults.state !== undefined && requestState === null) {
        access.clear();
        refresh.clear();
        const result = { ...modern, resultType: "input_required", requestState: faults.state };
        return void send(response, 200, { jsonrpc: "2.0", id, result });
      }
    }
    send(response, 200, { jsonrpc: "2.0", id, result: resultOf(method) });
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", origin());
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    switch (pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return send(response, 200, {
          resource: faults.resource ?? `${origin()}/mcp`,
          authorization_servers: [origin()],
          scopes_supported: ["tools"],
        });
      case "/.well-known/oauth-authorization-server":
        return send(response, 200, {
          issuer: faults.issuer ?? origin(),
          authorization_endpoint: `${origin()}/authorize`,
          token_endpoint: `${origin()}/token`,
          registration_endpoint: `${origin()}/register`,
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
          authorization_response_iss_parameter_supported: true,
        });
      case "/register": {
        counts.registrations += 1;
        const id = randomUUID();
        const asked = JSON.parse(body) as { readonly redirect_uris: readonly string[] };
        clients.set(id, asked.redirect_uris);
        return send(response, 201, { ...asked, client_id: id });
      }
      case "/authorize":
        return authorize(searchParams, response);
      case "/token": {
        if (faults.isUnreachable === true) return void request.socket.destroy();
        const tokens = token(new URLSearchParams(body));
        return tokens === null
          ? send(response, 400, { error: "invalid_grant", error_description: "It is not good." })
          : send(response, 200, tokens);
      }
      case "/mcp":
        return request.method === "POST" ? call(request, body, response) : void response.writeHead(405).end();
      default:
        return void response.writeHead(404).end();
    }
  });
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `${origin()}/mcp`, counts, faults, states, expire: () => access.clear() };
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

const modern = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

function resultOf(method: string): object {
  switch (method) {
    case "server/discover":
      return { ...modern, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
    case "tools/list":
      return { ...modern, tools: [{ name: "who", description: "Says who asks", inputSchema: { type: "object" } }] };
    default:
      return { ...modern, content: [{ type: "text", text: "you" }] };
  }
}

/** A person's browser, which follows redirects. */
export async function visit(page: URL): Promise<void> {
  await fetch(page);
}
