/**
 * OAuth protected resource metadata (RFC 9728), from which clients learn where to log in and which scopes to request.
 */
import { checkOptionNames, createConfigurationError } from "./option-checks.js";
import type { Scope } from "./principal.js";

/** The metadata that OAuth clients need to log in. */
export type OAuthOptions = {
  /** The public address of this server, as clients and the issuer know it: `https://agents.example.org/mcp`. */
  readonly resource: string;
  /** The issuers of the tokens that `authenticate` accepts. */
  readonly authorizationServers: readonly string[];
  /** The scopes that a client should request. Default: `read`, `run` and `approve`. */
  readonly scopes?: readonly string[];
};

export type OAuthSettings = {
  readonly metadata: {
    readonly resource: string;
    readonly authorization_servers: readonly string[];
    readonly scopes_supported: readonly string[];
    readonly bearer_methods_supported: readonly ["header"];
  };
  readonly metadataUrl: string;
  /** The path of `metadataUrl`. It begins at the root of the host, even if the server is mounted under a path. */
  readonly metadataPath: string;
};

const optionNames: ReadonlySet<string> = new Set(["resource", "authorizationServers", "scopes"]);
const defaultScopes: readonly Scope[] = ["read", "run", "approve"];
export const wellKnownPath = "/.well-known/oauth-protected-resource";

/** @throws PawlError `bad_configuration` */
export function resolveOAuth(options: OAuthOptions): OAuthSettings {
  checkOptionNames("oauth", options, optionNames);
  const { resource, authorizationServers, scopes: requestedScopes = defaultScopes } = options;
  if (!isAddress(resource))
    throw createConfigurationError(
      "oauth.resource must be the http or https address of this server, without a fragment.",
    );
  if (
    !Array.isArray(authorizationServers) ||
    authorizationServers.length === 0 ||
    !authorizationServers.every(isAddress)
  )
    throw createConfigurationError(
      "oauth.authorizationServers must be a non-empty array of issuers, each an http or https address.",
    );
  // A quote in a scope would end the header's parameter.
  if (
    !Array.isArray(requestedScopes) ||
    !requestedScopes.every((one) => typeof one === "string" && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(one))
  )
    throw createConfigurationError("oauth.scopes must be an array of scopes, without spaces, quotes or backslashes.");
  const { origin, pathname } = new URL(resource);
  const metadataPath = `${wellKnownPath}${pathname.replace(/\/$/, "")}`;
  return {
    metadata: {
      resource,
      authorization_servers: [...authorizationServers],
      scopes_supported: [...requestedScopes],
      bearer_methods_supported: ["header"],
    },
    metadataUrl: `${origin}${metadataPath}`,
    metadataPath,
  };
}

function isAddress(value: unknown): value is string {
  return (
    typeof value === "string" &&
    URL.canParse(value) &&
    /^https?:$/.test(new URL(value).protocol) &&
    !value.includes("#")
  );
}

/** The `www-authenticate` header of a refused request. */
export function createChallenge(
  { metadata, metadataUrl }: OAuthSettings,
  status: 401 | 403,
  needed: Scope | null,
): string {
  const scope = status === 403 && needed !== null ? needed : metadata.scopes_supported.join(" ");
  const error = status === 403 ? 'error="insufficient_scope", ' : "";
  return `Bearer ${error}scope="${scope}", resource_metadata="${metadataUrl}"`;
}
