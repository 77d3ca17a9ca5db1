/**
 * Serves the latest eval reports, for the Evals page. The logs of their trials are sessions in the store.
 */
import { responseContents } from "../response-schemas.js";
import type { Route } from "../route.js";
import { redactSecrets } from "../server-context.js";
import { ServerError } from "../server-error.js";

export const evalRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/evals",
    action: "evals",
    scope: "admin",
    summary: "The latest report of each eval, without trials.",
    responses: { 200: "{ evals }" },
    content: { 200: responseContents.evals },
    async handle(_, context) {
      const reports = await context.settings.evalReports();
      const evals = reports.map(({ trials, ...report }) => ({ ...report, trialCount: trials.length }));
      return { status: 200, json: redactSecrets(context, { evals }) };
    },
  },
  {
    method: "GET",
    path: "/v1/evals/:name",
    action: "evals",
    scope: "admin",
    summary: "The latest report of an eval.",
    responses: { 200: "{ report }" },
    content: { 200: responseContents.evalReport },
    async handle({ params }, context) {
      const report = (await context.settings.evalReports()).find(({ name }) => name === params.name);
      if (report === undefined)
        throw new ServerError("not_found", `There is no report for the eval ${JSON.stringify(params.name ?? "")}.`);
      return { status: 200, json: redactSecrets(context, { report }) };
    },
  },
];
