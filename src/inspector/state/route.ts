/**
 * Routes: every screen, session and step has a URL. The route is in the fragment, which is not sent to the server.
 */
import { parseCallKey } from "../../core/data/call-key.js";
import { parseCursor } from "../../stream/cursor.js";

export type StepTab = "step" | "request" | "events" | "raw";

export type Route =
  | { readonly screen: "sessions" }
  /** `questionId`: the question, if the tool of the call asks several. */
  | {
      readonly screen: "approvals";
      readonly sessionId?: string;
      readonly callKey?: string;
      readonly questionId?: string;
    }
  /** Without a step, the page follows the newest one. `mark`: the cursor of an event between steps, `seq.index`. */
  | {
      readonly screen: "session";
      readonly sessionId: string;
      readonly step?: string;
      readonly mark?: string;
      readonly tab: StepTab;
    }
  | { readonly screen: "log"; readonly sessionId: string; readonly type?: string }
  | { readonly screen: "cost"; readonly sessionId: string }
  | { readonly screen: "replay"; readonly sessionId: string }
  | { readonly screen: "schedules" }
  /** An eval by its name, and one of its trials: `variant/case/repetition`. */
  | { readonly screen: "evals"; readonly name?: string; readonly trial?: string };

/** The screens of one session. */
export type SessionScreen = Extract<Route, { readonly screen: "session" | "log" | "cost" | "replay" }>["screen"];

const tabs: ReadonlySet<string> = new Set<StepTab>(["step", "request", "events", "raw"]);

/** Parses a fragment such as `#/sessions/ID/steps/RUN/3/request`. An invalid fragment leads to the list of sessions. */
export function parseRoute(fragment: string): Route {
  const [screen = "", id, ...rest] = splitFragment(fragment);
  if (screen === "approvals") {
    const [callKey, questionId] = rest;
    if (id === undefined || callKey === undefined) return { screen };
    return { screen, sessionId: id, callKey, ...(questionId === undefined ? {} : { questionId }) };
  }
  if (screen === "schedules") return { screen };
  if (screen === "evals") {
    const [trial] = rest;
    return { screen, ...(id === undefined ? {} : { name: id }), ...(trial === undefined ? {} : { trial }) };
  }
  if (screen !== "sessions" || id === undefined) return { screen: "sessions" };
  const [section, first, index, tab = "step"] = rest;
  if (section === "log") return { screen: "log", sessionId: id, ...(first === undefined ? {} : { type: first }) };
  if (section === "at" && first !== undefined && Number.isFinite(parseCursor(first)?.index))
    return { screen: "session", sessionId: id, mark: first, tab: "step" };
  if (section === "cost" || section === "replay") return { screen: section, sessionId: id };
  if (section !== "steps" || first === undefined || index === undefined || !/^\d{1,9}$/.test(index))
    return { screen: "session", sessionId: id, tab: "step" };
  return { screen: "session", sessionId: id, step: toStepKey(first, Number(index)), tab: isTab(tab) ? tab : "step" };
}

export function formatFragment(route: Route): string {
  switch (route.screen) {
    case "sessions":
      return "#/";
    case "approvals":
      if (route.callKey === undefined) return "#/approvals";
      return joinFragment(
        ...["approvals", route.sessionId ?? "", route.callKey],
        ...(route.questionId === undefined ? [] : [route.questionId]),
      );
    case "schedules":
      return "#/schedules";
    case "evals":
      return joinFragment("evals", ...[route.name, route.trial].filter((part) => part !== undefined));
    case "log":
      return joinFragment("sessions", route.sessionId, "log", ...(route.type === undefined ? [] : [route.type]));
    case "cost":
    case "replay":
      return joinFragment("sessions", route.sessionId, route.screen);
    case "session": {
      const { sessionId, step, mark, tab } = route;
      if (mark !== undefined) return joinFragment("sessions", sessionId, "at", mark);
      if (step === undefined) return joinFragment("sessions", sessionId);
      const { runId, index } = parseStepKey(step);
      return joinFragment("sessions", sessionId, "steps", runId, String(index), ...(tab === "step" ? [] : [tab]));
    }
  }
}

/** The key of a step: its run and its model call. */
export function toStepKey(runId: string, index: number): string {
  return `${runId}/${index}`;
}

export function parseStepKey(key: string): { readonly runId: string; readonly index: number } {
  const slash = key.lastIndexOf("/");
  return { runId: key.slice(0, slash), index: Number(key.slice(slash + 1)) };
}

export function stepKeyOfCall(callKey: string): string {
  const { runId, modelCallIndex } = parseCallKey(callKey);
  return toStepKey(runId, modelCallIndex);
}

function isTab(text: string): text is StepTab {
  return tabs.has(text);
}

function joinFragment(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/** A segment that is not properly encoded ends the path. */
function splitFragment(fragment: string): readonly string[] {
  const parts: string[] = [];
  for (const part of fragment.replace(/^#?\/?/, "").split("/")) {
    if (part === "") continue;
    try {
      parts.push(decodeURIComponent(part));
    } catch {
      return parts;
    }
  }
  return parts;
}
