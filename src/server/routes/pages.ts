/**
 * The login of a browser page, which exchanges its start code for a cookie and a second half.
 */
import { hmacSha256 } from "../../platform/hash.js";
import { formatSetCookie, getHost } from "../page-access.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { boolean, object, string } from "../shape.js";

export const pageRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/ui/session",
    action: "page",
    scope: null,
    summary:
      "Exchanges the one-time code of a start link for a cookie and a second half, which the page sends in the header `x-pawl-page`. Needs no token.",
    body: object(
      {
        code: string("The code of the link.", 200),
        replace: boolean("Whether the page may switch to another principal. Without it, such a switch gets 202."),
      },
      ["code"],
    ),
    responses: {
      200: "{ half, expiresAt }, and a cookie",
      202: "{ from, to }: the page acts as `from`, but the link is for `to`. Nothing has changed, and the code is still valid.",
    },
    content: { 200: responseContents.ticket, 202: responseContents.otherLogin },
    handle: redeemStartCode,
  },
  {
    method: "GET",
    path: "/v1/ui/proof",
    action: "page",
    scope: null,
    summary:
      "Proves the identity of the server, before a page sends its second half, or a program its token. Needs no token. `page` is the HMAC-SHA-256 of `HOST\\0NONCE` with the second half that belongs to the request's cookie; null without a valid cookie. `server` is the same with the server's own key; null for a server without `secret`.",
    query: object({ nonce: string("16 or more random characters.", 100) }, ["nonce"]),
    responses: { 200: "{ page, server }" },
    content: { 200: responseContents.proof },
    handle: proveServer,
  },
  {
    method: "POST",
    path: "/v1/ui/codes",
    action: "code",
    scope: "admin",
    summary:
      "Creates the code of a start link, with which one page can act as the requesting principal. The link's fragment is `#start=CODE`. The code is valid once, for ten minutes.",
    body: object({}),
    responses: { 201: "{ code }" },
    content: { 201: responseContents.code },
    handle: ({ principal }, { pageAccess }) => ({ status: 201, json: { code: pageAccess.createCode(principal) } }),
  },
];

function proveServer({ request, query }: RouteRequest, { pageAccess, proofKey }: ServerContext) {
  const { nonce } = query as { readonly nonce: string };
  if (nonce.length < 16)
    throw new ServerError("bad_input", "The nonce is too short. Send at least 16 random characters.");
  const server = proofKey === null ? null : hmacSha256(proofKey, `${getHost(request)}\0${nonce}`);
  return { status: 200, json: { page: pageAccess.prove(request, nonce, Date.now()), server } } as const;
}

async function redeemStartCode({ request, body }: RouteRequest, { pageAccess }: ServerContext) {
  const now = Date.now();
  const { code, replace = false } = body as { readonly code: string; readonly replace?: boolean };
  const current = pageAccess.authenticate(request, now);
  const linkPrincipal = pageAccess.peekCode(code, now);
  // Another person's link must not silently switch this page to their principal.
  if (!replace && current !== null && linkPrincipal !== null && current.id !== linkPrincipal.id)
    return { status: 202, json: { from: current.id, to: linkPrincipal.id } } as const;
  const ticket = pageAccess.redeemCode(code, now);
  if (ticket === null)
    throw new ServerError(
      "unauthorized",
      "The start link is unknown, expired or already used. Ask the server for a new one.",
    );
  const { half, expiresAt } = ticket;
  return {
    status: 200,
    json: { half, expiresAt },
    headers: { "set-cookie": formatSetCookie(request, ticket, now) },
  } as const;
}
