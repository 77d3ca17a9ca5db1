/**
 * The start of a page in a browser: it exchanges its code for a cookie and a second half.
 */
import { answers } from "../answer-shapes.js";
import { setCookie } from "../page-access.js";
import type { Asked, Route } from "../route.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { objectOf, text } from "../shape.js";

export const pageRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/ui/session",
    action: "page",
    scope: null,
    about:
      "Exchanges the code of a start link, which is good once, for a cookie and a second half. The page sends the half in the header `x-pawl-page`. It needs no token.",
    body: objectOf({ code: text("The code of the link.", 200) }, ["code"]),
    gives: { 200: "{ half, expiresAt }, and a cookie" },
    answers: { 200: answers.ticket },
    handle: begin,
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

async function begin({ request, body }: Asked, { pages }: ServerContext) {
  const now = Date.now();
  const ticket = pages.exchange((body as { readonly code: string }).code, now);
  if (ticket === null)
    throw new ServerError("unauthorized", "The link was used, or is too old. Ask the server for another one.");
  const { half, expiresAt } = ticket;
  return {
    status: 200,
    json: { half, expiresAt },
    headers: { "set-cookie": setCookie(request, ticket, now) },
  } as const;
}
