/**
 * The start of a page in a browser: it exchanges its code for a cookie and a second half.
 */
import { hmacSha256 } from "../../platform/hash.js";
import { answers } from "../answer-shapes.js";
import { hostOf, setCookie } from "../page-access.js";
import type { Asked, Route } from "../route.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { flag, objectOf, text } from "../shape.js";

export const pageRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/ui/session",
    action: "page",
    scope: null,
    about:
      "Exchanges the code of a start link, which is good once, for a cookie and a second half. The page sends the half in the header `x-pawl-page`. It needs no token.",
    body: objectOf(
      {
        code: text("The code of the link.", 200),
        replace: flag("Whether the page may act as somebody else from now on. Without it, 202 says so first."),
      },
      ["code"],
    ),
    gives: {
      200: "{ half, expiresAt }, and a cookie",
      202: "{ from, to }: the page acts as `from`, and the link is for `to`. Nothing has changed, and the code is still good.",
    },
    answers: { 200: answers.ticket, 202: answers.otherLogin },
    handle: begin,
  },
  {
    method: "GET",
    path: "/v1/ui/proof",
    action: "page",
    scope: null,
    about:
      "Proves which server answers, before a page sends its second half, or a program its token. It needs no token. `page` is the HMAC-SHA-256 of `HOST\\0NONCE` with the half of the page whose cookie came along; null without a valid cookie. `server` is the same with the server's own key; null for a server without `secret`.",
    query: objectOf({ nonce: text("16 or more random characters.", 100) }, ["nonce"]),
    gives: { 200: "{ page, server }" },
    answers: { 200: answers.proof },
    handle: prove,
  },
  {
    method: "POST",
    path: "/v1/ui/codes",
    action: "code",
    scope: "admin",
    about:
      "Makes a start link for one page that acts as the asking principal: its fragment is `#start=CODE`. It is good once, for ten minutes.",
    body: objectOf({}),
    gives: { 201: "{ code }" },
    answers: { 201: answers.code },
    handle: ({ principal }, { pages }) => ({ status: 201, json: { code: pages.createCode(principal) } }),
  },
];

function prove({ request, query }: Asked, { pages, proofKey }: ServerContext) {
  const { nonce } = query as { readonly nonce: string };
  if (nonce.length < 16)
    throw new ServerError("bad_input", "The nonce is too short. Send 16 random characters or more.");
  const server = proofKey === null ? null : hmacSha256(proofKey, `${hostOf(request)}\0${nonce}`);
  return { status: 200, json: { page: pages.prove(request, nonce, Date.now()), server } } as const;
}

async function begin({ request, body }: Asked, { pages }: ServerContext) {
  const now = Date.now();
  const { code, replace = false } = body as { readonly code: string; readonly replace?: boolean };
  const present = pages.principalOf(request, now);
  const next = pages.codePrincipal(code, now);
  // A link from somebody else must not have this person act as another one unnoticed.
  if (!replace && present !== null && next !== null && present.id !== next.id)
    return { status: 202, json: { from: present.id, to: next.id } } as const;
  const ticket = pages.exchange(code, now);
  if (ticket === null)
    throw new ServerError("unauthorized", "The link was used, or is too old. Ask the server for another one.");
  const { half, expiresAt } = ticket;
  return {
    status: 200,
    json: { half, expiresAt },
    headers: { "set-cookie": setCookie(request, ticket, now) },
  } as const;
}
