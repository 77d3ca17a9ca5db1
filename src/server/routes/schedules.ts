/**
 * Schedules: creating, listing, changing and removing them, and the tick of a server with short-lived processes.
 *
 * A schedule, like a session, belongs to the principal that created it. `may` gets the session that the schedule's runs go to, or the id of
 * the schedule if each run has its own session.
 */
import { createSchedules, type Schedule, type ScheduleInfo, type Schedules } from "../../index.js";
import type { PostedRun, SlotRow } from "../../store.js";
import { type AskedSession, deriveId, type Principal } from "../principal.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { chooseParams, isAllowed, redactSecrets, type ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { loadSessionInfo } from "../session-info.js";
import { anyJson, boolean, integer, object, oneOf, string } from "../shape.js";
import { parseRunOptions, runOptionsShape, withClientErrors } from "./run-options.js";
import { pickRoot } from "./sessions.js";

const maxIdCharacters = 100;

/** The maximum number of schedules that a page examines, even if it is not full, because `may` is called for each. */
const maxExamined = 2_000;

const overlaps = Object.keys({ skip: true, queue: true, allow: true } satisfies Record<
  NonNullable<Schedule["overlap"]>,
  true
>);
const missedPolicies = Object.keys({ last: true, all: true, skip: true } satisfies Record<
  NonNullable<Schedule["missed"]>,
  true
>);

export const scheduleRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/schedules",
    action: "list_schedules",
    scope: "read",
    summary: "Schedules, sorted by id. A long input is cut, and `inputSize` is then the size of the whole input.",
    query: object({
      limit: integer("The maximum number of schedules.", 1, 500),
      after: string("The `next` of the previous page.", maxIdCharacters),
    }),
    responses: { 200: "{ schedules, next }: `next` is the cursor of the next page, null at the end" },
    content: { 200: responseContents.schedules },
    handle: listSchedules,
  },
  {
    method: "GET",
    path: "/v1/schedules/:id",
    action: "read_schedule",
    scope: "read",
    summary: "A schedule, with its next slot and its last run.",
    responses: { 200: "the schedule" },
    content: { 200: responseContents.schedule },
    async handle(routeRequest, context) {
      const { info } = await authorizeSchedule(routeRequest, context, "read_schedule");
      return { status: 200, json: redactSecrets(context, info) };
    },
  },
  {
    method: "PUT",
    path: "/v1/schedules/:id",
    action: "schedule",
    scope: "schedule",
    summary:
      "Creates or replaces a schedule. Its sessions belong to the principal that created it. Naming a session, or changing another principal's schedule, needs permission.",
    body: object(
      {
        cron: string("A cron expression of five fields, or of six with seconds first.", 200),
        everyMs: integer("An interval in milliseconds.", 1_000, Number.MAX_SAFE_INTEGER),
        at: anyJson("A single time: epoch milliseconds, or an ISO 8601 string with a UTC offset."),
        timezone: string("The time zone of `cron`. Default: UTC.", 100),
        agent: string("The name of the agent.", 200),
        input: anyJson("A string, parts, or user messages."),
        session: anyJson('"new", "same" or { id }.'),
        overlap: oneOf("How a slot is handled while the last run has not ended.", ...overlaps),
        missed: oneOf("Which missed slots run later.", ...missedPolicies),
        jitterMs: integer("The maximum delay of a slot, in milliseconds.", 0, 86_400_000),
        startAt: anyJson("There is no slot before this time."),
        endAt: anyJson("There is no slot after this time."),
        paused: boolean(
          "Whether the schedule is paused. Slots during a pause are not run, and do not count as missed.",
        ),
        options: runOptionsShape,
      },
      ["agent", "input"],
    ),
    responses: { 200: "the schedule" },
    content: { 200: responseContents.schedule },
    handle: putSchedule,
  },
  {
    method: "DELETE",
    path: "/v1/schedules/:id",
    action: "schedule",
    scope: "schedule",
    summary: "Removes a schedule. Its active runs continue.",
    responses: { 204: "removed" },
    async handle(routeRequest, context) {
      const { schedules, info } = await authorizeSchedule(routeRequest, context, "schedule");
      await schedules.remove(info.id);
      return { status: 204, bytes: null };
    },
  },
  {
    method: "GET",
    path: "/v1/schedules/:id/slots",
    action: "read_schedule",
    scope: "read",
    summary: "The outcomes of the last slots, newest first.",
    query: object({ limit: integer("The maximum number of slots. Default: 20.", 1, 100) }),
    responses: { 200: "{ slots }: a slot whose run has its own session has the `status` of that session" },
    content: { 200: responseContents.slots },
    async handle(routeRequest, context) {
      const { schedules, info } = await authorizeSchedule(routeRequest, context, "read_schedule");
      const { limit } = routeRequest.query as { readonly limit?: number };
      const slots = await schedules.slots(info.id, limit === undefined ? {} : { limit });
      const listed = await Promise.all(slots.map((slot) => addStatus(slot, info, routeRequest.principal, context)));
      return { status: 200, json: { slots: listed } };
    },
  },
  {
    method: "POST",
    path: "/v1/schedules/:id/run",
    action: "schedule",
    scope: "schedule",
    summary: "Posts a run now, regardless of the schedule's times.",
    body: object({}),
    responses: { 201: "{ sessionId, runId, slot }" },
    content: { 201: responseContents.postedRun },
    async handle(routeRequest, context) {
      requireRunScope(routeRequest.principal);
      const { schedules, info } = await authorizeSchedule(routeRequest, context, "schedule");
      const posted: PostedRun = await schedules.runNow(info.id);
      return { status: 201, json: posted };
    },
  },
  ...(["pause", "resume"] as const).map(
    (change): Route => ({
      method: "POST",
      path: `/v1/schedules/:id/${change}`,
      action: "schedule",
      scope: "schedule",
      summary:
        change === "pause"
          ? "Pauses a schedule. Slots during the pause do not count as missed."
          : "Resumes a paused schedule, from its next slot.",
      body: object({}),
      responses: { 200: "the schedule" },
      content: { 200: responseContents.schedule },
      async handle(routeRequest, context) {
        const { schedules, info } = await authorizeSchedule(routeRequest, context, "schedule");
        return { status: 200, json: redactSecrets(context, await schedules[change](info.id)) };
      },
    }),
  ),
  {
    method: "POST",
    path: "/v1/tick",
    action: "tick",
    scope: "tick",
    summary:
      "Fires due schedules and drives due sessions, for short-lived processes: let a timer of the platform call this once a minute. On a server with `work`, this does nothing.",
    query: object({
      maxMs: integer("Respond after this time in milliseconds, even if runs continue. Default: 50,000.", 1, 3_600_000),
    }),
    body: object({}),
    responses: { 200: "{ fired, driven, isIdle, nextAt }: `nextAt` is when the next schedule is due" },
    content: { 200: responseContents.tick },
    async handle({ query }, context) {
      const { maxMs = 50_000 } = query as { readonly maxMs?: number };
      return { status: 200, json: await context.ticks.run(maxMs) };
    },
  },
];

/** Adds the session's status if the principal may read it: the session may be older than the schedule, and belong to another principal. */
async function addStatus(slot: SlotRow, { session }: ScheduleInfo, principal: Principal, context: ServerContext) {
  if (slot.sessionId === undefined || session !== "new") return slot;
  const { store } = context.settings;
  const summary = await store.describe(slot.sessionId);
  if (summary === null) return slot;
  const asked = { id: slot.sessionId, info: await loadSessionInfo(store, summary) };
  return (await isAllowed(context, principal, "read", asked)) ? { ...slot, status: summary.status } : slot;
}

/** @throws PawlError `store_lacks` if a custom store has no schedules */
function openSchedules({ settings }: ServerContext): Schedules {
  return createSchedules({ store: settings.store });
}

/** The session that the runs of a schedule go to, as `may` gets it. */
function toAskedSession({ id, session, agent, principal }: ScheduleInfo): AskedSession {
  const info = { agent, model: "", ...(principal === undefined ? {} : { principal }) };
  return { id: typeof session === "object" ? session.id : id, info };
}

/** @throws ServerError `no_schedule`, `forbidden` */
async function authorizeSchedule(
  { principal, params }: RouteRequest,
  context: ServerContext,
  action: string,
): Promise<{ readonly schedules: Schedules; readonly info: ScheduleInfo }> {
  const id = params.id ?? "";
  const schedules = openSchedules(context);
  const info = await schedules.get(id);
  if (info === null || !(await isAllowed(context, principal, "read_schedule", toAskedSession(info))))
    throw new ServerError("no_schedule", `There is no schedule ${JSON.stringify(id)}.`);
  if (action !== "read_schedule" && !(await isAllowed(context, principal, action, toAskedSession(info))))
    throw new ServerError("forbidden", `You are not allowed to change the schedule ${id}.`);
  return { schedules, info };
}

async function listSchedules({ principal, query }: RouteRequest, context: ServerContext) {
  const { limit = 50, after: start } = query as { readonly limit?: number; readonly after?: string };
  const maxResults = Math.min(limit, context.settings.limits.maxPage);
  const schedules = openSchedules(context);
  const found: ScheduleInfo[] = [];
  let after = start;
  let isComplete = false;
  for (let examined = 0; found.length < maxResults && examined < maxExamined && !isComplete; ) {
    const page = await schedules.list({ limit: maxResults, ...(after === undefined ? {} : { after }) });
    for (const info of page) {
      if (found.length === maxResults) break;
      after = info.id;
      examined += 1;
      if (await isAllowed(context, principal, "read_schedule", toAskedSession(info))) found.push(info);
    }
    isComplete = page.length < maxResults && after === page.at(-1)?.id;
    if (page.length === 0) isComplete = true;
  }
  return {
    status: 200,
    json: { schedules: redactSecrets(context, found), next: isComplete || after === undefined ? null : after },
  } as const;
}

async function putSchedule({ request: httpRequest, principal, params, body }: RouteRequest, context: ServerContext) {
  requireRunScope(principal);
  const options = parseRunOptions(body, context.settings);
  const { agents } = context;
  const given = body as Omit<Schedule, "id">;
  if (agents.size > 0 && !agents.has(given.agent))
    throw new ServerError(
      "bad_input",
      `There is no agent ${JSON.stringify(given.agent)} on this server. Known agents: ${[...agents.keys()].join(", ")}.`,
    );
  const schedules = openSchedules(context);
  const id = params.id ?? "";
  const current = await schedules.get(id);
  const request = { agent: given.agent, options };
  const target = current === null ? null : toAskedSession(current);
  if (!(await isAllowed(context, principal, "schedule", target, request)))
    throw current === null
      ? new ServerError("forbidden", "You are not allowed to create schedules.")
      : new ServerError("schedule_exists", `The id ${id} is taken. Choose another one.`);
  // The runs belong to the creator of the schedule. Another principal that changes it must not pass its own params to them.
  const runParams =
    current === null || current.principal === principal.id
      ? await chooseParams(context, { principal, request: httpRequest }, given.agent)
      : current.options?.params === undefined
        ? {}
        : { params: current.options.params };
  const runOptions = { ...options, ...runParams };
  const owner = current?.principal ?? principal.id;
  const session = given.session === "same" ? chooseSameSession(id, { current, owner, principal }) : given.session;
  await authorizeTarget(
    routeTarget(id, { session, isNamed: given.session !== "same" }),
    { principal, request },
    context,
  );
  const schedule: Schedule = {
    ...given,
    id,
    ...(session === undefined ? {} : { session }),
    principal: owner,
    ...(Object.keys(runOptions).length === 0 ? {} : { options: runOptions }),
    ...pickRoot(agents.get(given.agent)),
  } as Schedule;
  if (current === null) await requireRoom(schedules, principal, context.settings.limits.schedulesPerPrincipal);
  // The condition ties the write to the checked state, because another principal may have put a schedule with this id since.
  const condition = current === null ? { ifNew: true } : { replaces: current };
  const info = await withClientErrors(schedules.put(schedule, condition));
  return { status: 200, json: redactSecrets(context, info) } as const;
}

/** @throws ServerError `schedule_full` if the principal has the maximum number of schedules */
async function requireRoom(schedules: Schedules, { id }: Principal, maxOwn: number): Promise<void> {
  let own = 0;
  for (
    let page = await schedules.list();
    page.length > 0;
    page = await schedules.list({ after: page.at(-1)?.id ?? "" })
  ) {
    own += page.filter(({ principal }) => principal === id).length;
    if (own >= maxOwn)
      throw new ServerError(
        "schedule_full",
        `You have ${own} schedules, but this server allows at most ${maxOwn} per principal. Remove some, or combine several into one.`,
      );
  }
}

/** A schedule starts runs, so creating one needs the scope `run`. @throws ServerError `forbidden` */
function requireRunScope({ scopes }: Principal): void {
  if (!scopes.includes("run"))
    throw new ServerError("forbidden", "This request also needs the scope run, because schedules start runs.", {
      scope: "run",
    });
}

/**
 * Chooses the session of a schedule whose runs share one. Only administrators may choose session ids, and with "same" the id is the
 * schedule's. Others get an id that is derived from the owner and the schedule, and that does not change with the principal that edits it.
 */
function chooseSameSession(
  id: string,
  {
    current,
    owner,
    principal,
  }: { readonly current: ScheduleInfo | null; readonly owner: string; readonly principal: Principal },
): "same" | { readonly id: string } {
  const derived = deriveId({ id: owner }, `schedule ${id}`);
  const present = current?.session;
  if (typeof present === "object" && present.id === derived) return present;
  return present === "same" || principal.scopes.includes("admin") ? "same" : { id: derived };
}

/** The session that all runs go to; null if each run has a new one. `isNamed`: the request names the session. */
function routeTarget(
  id: string,
  { session, isNamed }: { readonly session: unknown; readonly isNamed: boolean },
): { readonly id: string; readonly isNamed: boolean } | null {
  if (session === "same") return { id, isNamed: false };
  const target = typeof session === "object" && session !== null && "id" in session ? session.id : undefined;
  return typeof target === "string" ? { id: target, isNamed } : null;
}

/** Checks that this principal itself may post runs to the target session. */
async function authorizeTarget(
  target: ReturnType<typeof routeTarget>,
  { principal, request }: Pick<RouteRequest, "principal"> & { readonly request: Parameters<typeof isAllowed>[4] },
  context: ServerContext,
): Promise<void> {
  if (target === null) return;
  const { store } = context.settings;
  const summary = await store.describe(target.id);
  if (summary === null) {
    if (target.isNamed && !principal.scopes.includes("admin"))
      throw new ServerError("no_session", `There is no session ${target.id}.`);
    return;
  }
  const session = { id: target.id, info: await loadSessionInfo(store, summary) };
  if (await isAllowed(context, principal, "run", session, request)) return;
  throw target.isNamed
    ? new ServerError("no_session", `There is no session ${target.id}.`)
    : new ServerError("schedule_exists", `The id ${target.id} is taken by a session. Choose another one.`);
}
