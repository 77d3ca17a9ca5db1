/**
 * A person's verdict on a session: good or bad, with a note. It is stored in the session's data under `labelKey`, and cases made from
 * the session contain it.
 */
import { type Label, labelKey, readLabel } from "../../core/index.js";
import { responseContents } from "../response-schemas.js";
import type { Route } from "../route.js";
import { authorizeSession, redactSecrets } from "../server-context.js";
import { boolean, object, string } from "../shape.js";

const maxNoteCharacters = 4_000;

export const labelRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions/:id/label",
    action: "read",
    scope: "read",
    ofSession: true,
    summary: "The label of the session: a person's verdict.",
    responses: { 200: "{ label }: null for a session without a label" },
    content: { 200: responseContents.label },
    async handle({ principal, params }, context) {
      const { session } = await authorizeSession(context, principal, "read", params.id ?? "");
      return { status: 200, json: redactSecrets(context, { label: readLabel((await session.data())[labelKey]) }) };
    },
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/label",
    action: "label",
    scope: "approve",
    ofSession: true,
    summary: "Labels the session as good or bad, replacing an earlier label. Evals compare judges with labels.",
    body: object(
      {
        good: boolean("Whether the session went well."),
        note: string("The reason.", maxNoteCharacters),
      },
      ["good"],
    ),
    responses: { 200: "{ label }" },
    content: { 200: responseContents.label },
    async handle({ principal, params, body }, context) {
      const { session } = await authorizeSession(context, principal, "label", params.id ?? "");
      const { good, note } = body as Label;
      const label: Label = { good, ...(note === undefined ? {} : { note }) };
      await session.setData({ set: { [labelKey]: label } }, { by: principal.id });
      return { status: 200, json: { label } };
    },
  },
  {
    method: "DELETE",
    path: "/v1/sessions/:id/label",
    action: "label",
    scope: "approve",
    ofSession: true,
    summary: "Removes the label of the session.",
    responses: { 204: "removed" },
    async handle({ principal, params }, context) {
      const { session } = await authorizeSession(context, principal, "label", params.id ?? "");
      await session.setData({ unset: [labelKey] }, { by: principal.id });
      return { status: 204, bytes: null };
    },
  },
];
